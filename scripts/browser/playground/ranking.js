// Rows and their ranked lists: unit rows, similarities, true and soft ranks, recall@k, average precision, the
// decomposability gap and its bounds. Rows lie behind one another in a Float64Array, row i of width d from i * d.

/** Rows of length 1, and their lengths. A row of zeros has no direction and stays. */
export function unit(rows, n, d) {
  const units = new Float64Array(n * d);
  const lengths = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let t = i * d; t < (i + 1) * d; t++) sum += rows[t] * rows[t];
    lengths[i] = Math.sqrt(sum);
    const scale = lengths[i] > 0 ? 1 / lengths[i] : 0;
    for (let t = i * d; t < (i + 1) * d; t++) units[t] = rows[t] * scale;
  }
  return { units, lengths };
}

/** Dot products of all rows, n * n. Equal rows tie exactly, since their products are added in one order. */
export function similarities(rows, n, d) {
  const products = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let t = 0; t < d; t++) sum += rows[i * d + t] * rows[j * d + t];
      products[i * n + j] = products[j * n + i] = sum;
    }
  }
  return products;
}

/** The gradient of rows from that of their dot products, n * n, which need not be symmetric. */
export function throughSimilarities(slopes, rows, n, d) {
  const gradient = new Float64Array(n * d);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const weight = slopes[i * n + j] + slopes[j * n + i];
      if (weight === 0) continue;
      for (let t = 0; t < d; t++) gradient[i * d + t] += weight * rows[j * d + t];
    }
  }
  return gradient;
}

/** The gradient of rows from that of their unit rows; a row of zeros passes it unchanged. */
export function throughUnit(gradient, units, lengths, n, d) {
  const out = new Float64Array(n * d);
  for (let i = 0; i < n; i++) {
    let along = 0;
    for (let t = i * d; t < (i + 1) * d; t++) along += gradient[t] * units[t];
    const scale = lengths[i] > 0 ? 1 / lengths[i] : 1;
    for (let t = i * d; t < (i + 1) * d; t++) out[t] = (gradient[t] - along * units[t]) * scale;
  }
  return out;
}

/** Items in the order of a query's ranked list, the query left out; of equal ones the first in `items` stands first. */
export function rankedList(query, scores, items) {
  return items.filter((item) => item !== query).sort((a, b) => scores[b] - scores[a] || a - b);
}

/** For each item of a list its soft rank: 1 + what every other item of the list adds by the surrogate. */
export function softRanks(list, scores, surrogate) {
  return list.map((item) =>
    list.reduce((rank, other) => (other === item ? rank : rank + surrogate.value(scores[other] - scores[item])), 1),
  );
}

/** Scores of one ranked list of booleans, first first: hit rate r@k, recall@k, average precision; NaN without a hit. */
export function scoresOf(relevant, k) {
  const total = relevant.filter(Boolean).length;
  if (!total) return { hit: NaN, recall: NaN, precision: NaN };
  const found = relevant.slice(0, k).filter(Boolean).length;
  let seen = 0;
  let sum = 0;
  relevant.forEach((hit, place) => {
    if (hit) sum += ++seen / (place + 1);
  });
  return { hit: found > 0 ? 1 : 0, recall: found / total, precision: sum / total };
}

/** Average precision of one list with ties counted against it (ROADMAP, eq. 1 and 3); NaN without a relevant item. */
export function averagePrecision(scores, relevant) {
  const all = Float64Array.from(scores).sort().reverse();
  const mine = Float64Array.from(scores.filter((_, i) => relevant[i])).sort().reverse();
  let rank = 0;
  let among = 0;
  let sum = 0;
  for (const score of mine) {
    while (all[rank] >= score) rank++;
    while (mine[among] >= score) among++;
    sum += among / rank;
  }
  return sum / mine.length;
}

/** 1 - the mean precision when perfectly ranked batches stand behind one another in this order (ROADMAP, eq. 8). */
export function bound8(positives, negatives) {
  return bound9(
    positives.map(() => 0),
    positives,
    negatives.map(() => 0),
    negatives,
  );
}

/**
 * The same where calibrated positives only follow negatives above beta (ROADMAP, eq. 9).
 * @param good positives of each batch above alpha; bad: its other positives; loud: its negatives above beta;
 *   negatives: all of its negatives.
 */
export function bound9(good, bad, loud, negatives) {
  return boundOf(good.reduce((before, high, b) => behind(before, high, bad[b], loud[b], negatives[b]), NONE));
}

/**
 * The largest of eq. 9 over all orders of the batches: whichever is used up first in the ranking may come first. What a
 * batch adds depends on the set before it alone, so 2^K sets do in the place of K! orders.
 */
export function largestBound9(good, bad, loud, negatives) {
  const sets = [NONE];
  for (let set = 1; set < 1 << good.length; set++) {
    for (let b = 0; b < good.length; b++) {
      if (!(set & (1 << b))) continue;
      const found = behind(sets[set ^ (1 << b)], good[b], bad[b], loud[b], negatives[b]);
      if (!sets[set] || found.sum < sets[set].sum) sets[set] = found;
    }
  }
  return boundOf(sets.at(-1));
}

const boundOf = ({ sum, positives }) => (positives ? 1 - sum / positives : NaN);
const NONE = { sum: 0, good: 0, positives: 0, loud: 0, negatives: 0 };

/** The counts of some batches, and the sum of their precisions, once another stands behind them. */
function behind(before, good, bad, loud, negatives) {
  let { sum } = before;
  for (let j = 1; j <= good; j++) sum += (j + before.good) / (j + before.good + before.loud);
  for (let j = 1; j <= bad; j++) {
    const place = j + before.positives + good;
    sum += place / (place + before.negatives);
  }
  return {
    sum,
    good: before.good + good,
    positives: before.positives + good + bad,
    loud: before.loud + loud,
    negatives: before.negatives + negatives,
  };
}

/**
 * Average precision in batches less that of the whole set, mean over queries (ROADMAP, eq. 6), and the bounds.
 * @param scores n * n similarities; batchOf: the number of each item's batch.
 * @returns {{inBatches, overall, gap, bound8, bound9}} means over the queries that have a positive.
 */
export function decomposabilityGap(scores, labels, batchOf, alpha = 0.9, beta = 0.6) {
  const n = labels.length;
  const batches = [...new Set(batchOf)].sort((a, b) => a - b);
  const rows = [];
  for (let q = 0; q < n; q++) {
    const others = [...labels.keys()].filter((i) => i !== q);
    const inside = batches.map((b) => others.filter((i) => batchOf[i] === b));
    const precisionOf = (items) => {
      const listed = items.map((i) => scores[q * n + i]);
      return averagePrecision(
        listed,
        items.map((i) => labels[i] === labels[q]),
      );
    };
    const count = (test) => inside.map((items) => items.filter(test).length);
    const positive = (i) => labels[i] === labels[q];
    const good = count((i) => positive(i) && scores[q * n + i] >= alpha);
    const positives = count(positive), none = batches.map(() => 0);
    const bad = positives.map((all, b) => all - good[b]);
    const loud = count((i) => !positive(i) && scores[q * n + i] > beta);
    const negatives = count((i) => !positive(i));
    rows.push({
      inBatches: mean(inside.map(precisionOf)),
      overall: precisionOf(others),
      bound8: largestBound9(none, positives, none, negatives),
      bound9: largestBound9(good, bad, loud, negatives),
    });
  }
  const told = Object.fromEntries(Object.keys(rows[0]).map((name) => [name, mean(rows.map((row) => row[name]))]));
  return { ...told, gap: told.inBatches - told.overall };
}

/** Mean of the numbers that are any; NaN without one. */
export function mean(values) {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (!Number.isNaN(value)) {
      sum += value;
      count++;
    }
  }
  return count ? sum / count : NaN;
}
