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
  let sum = 0;
  let total = 0;
  scores.forEach((mine, i) => {
    if (!relevant[i]) return;
    let rank = 0;
    let among = 0;
    scores.forEach((other, j) => {
      if (other >= mine) {
        rank++;
        among += relevant[j] ? 1 : 0;
      }
    });
    sum += among / rank;
    total++;
  });
  return total ? sum / total : NaN;
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
  let sum = 0;
  let total = 0;
  let ahead = { good: 0, positives: 0, loud: 0, negatives: 0 };
  good.forEach((high, b) => {
    for (let j = 1; j <= high; j++) sum += (j + ahead.good) / (j + ahead.good + ahead.loud);
    for (let j = 1; j <= bad[b]; j++) {
      const place = j + ahead.positives + high;
      sum += place / (place + ahead.negatives);
    }
    total += high + bad[b];
    ahead = {
      good: ahead.good + high,
      positives: ahead.positives + high + bad[b],
      loud: ahead.loud + loud[b],
      negatives: ahead.negatives + negatives[b],
    };
  });
  return total ? 1 - sum / total : NaN;
}

/** The largest of a bound over all orders of some batches: whichever is used up first in the ranking may come first. */
export function largestOfAllOrders(bound, ...counts) {
  const orders = permutations(counts[0].map((_, b) => b));
  return Math.max(...orders.map((order) => bound(...counts.map((one) => order.map((b) => one[b])))));
}

function permutations(items) {
  if (items.length < 2) return [items];
  return items.flatMap((first, i) => permutations(items.toSpliced(i, 1)).map((rest) => [first, ...rest]));
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
    const bad = count((i) => positive(i) && scores[q * n + i] < alpha);
    const loud = count((i) => !positive(i) && scores[q * n + i] > beta);
    const negatives = count((i) => !positive(i));
    rows.push({
      inBatches: mean(inside.map(precisionOf)),
      overall: precisionOf(others),
      bound8: largestOfAllOrders(
        bound8,
        good.map((g, b) => g + bad[b]),
        negatives,
      ),
      bound9: largestOfAllOrders(bound9, good, bad, loud, negatives),
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
