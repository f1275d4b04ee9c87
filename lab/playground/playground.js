// Built from scripts/browser; edit the sources there.

// playground/ranking.js
function unit(rows, n, d) {
  const units = new Float64Array(n * d);
  const lengths2 = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let t = i * d; t < (i + 1) * d; t++) sum += rows[t] * rows[t];
    lengths2[i] = Math.sqrt(sum);
    const scale = lengths2[i] > 0 ? 1 / lengths2[i] : 0;
    for (let t = i * d; t < (i + 1) * d; t++) units[t] = rows[t] * scale;
  }
  return { units, lengths: lengths2 };
}
function similarities(rows, n, d) {
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
function throughSimilarities(slopes, rows, n, d) {
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
function throughUnit(gradient, units, lengths2, n, d) {
  const out = new Float64Array(n * d);
  for (let i = 0; i < n; i++) {
    let along = 0;
    for (let t = i * d; t < (i + 1) * d; t++) along += gradient[t] * units[t];
    const scale = lengths2[i] > 0 ? 1 / lengths2[i] : 1;
    for (let t = i * d; t < (i + 1) * d; t++) out[t] = (gradient[t] - along * units[t]) * scale;
  }
  return out;
}
function rankedList(query, scores, items) {
  return items.filter((item) => item !== query).sort((a, b) => scores[b] - scores[a] || a - b);
}
function softRanks(list, scores, surrogate) {
  return list.map(
    (item) => list.reduce((rank, other) => other === item ? rank : rank + surrogate.value(scores[other] - scores[item]), 1)
  );
}
function scoresOf(relevant, k) {
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
function averagePrecision(scores, relevant) {
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
function bound8(positives, negatives) {
  return bound9(
    positives.map(() => 0),
    positives,
    negatives.map(() => 0),
    negatives
  );
}
function bound9(good, bad, loud, negatives) {
  return boundOf(good.reduce((before, high, b) => behind(before, high, bad[b], loud[b], negatives[b]), NONE));
}
function largestBound9(good, bad, loud, negatives) {
  const sets = [NONE];
  for (let set = 1; set < 1 << good.length; set++) {
    for (let b = 0; b < good.length; b++) {
      if (!(set & 1 << b)) continue;
      const found = behind(sets[set ^ 1 << b], good[b], bad[b], loud[b], negatives[b]);
      if (!sets[set] || found.sum < sets[set].sum) sets[set] = found;
    }
  }
  return boundOf(sets.at(-1));
}
var boundOf = ({ sum, positives }) => positives ? 1 - sum / positives : NaN;
var NONE = { sum: 0, good: 0, positives: 0, loud: 0, negatives: 0 };
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
    negatives: before.negatives + negatives
  };
}
function decomposabilityGap(scores, labels, batchOf, alpha = 0.9, beta = 0.6) {
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
        items.map((i) => labels[i] === labels[q])
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
      bound9: largestBound9(good, bad, loud, negatives)
    });
  }
  const told = Object.fromEntries(Object.keys(rows[0]).map((name) => [name, mean(rows.map((row) => row[name]))]));
  return { ...told, gap: told.inBatches - told.overall };
}
function mean(values) {
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

// playground/surrogates.js
function sigma(u) {
  if (u >= 0) return 1 / (1 + Math.exp(-u));
  const e = Math.exp(u);
  return e / (1 + e);
}
function sigmaSlope(u) {
  const e = Math.exp(-Math.abs(u));
  return e / ((1 + e) * (1 + e));
}
function heaviside() {
  return { value: (gap) => gap >= 0 ? 1 : 0, slope: () => 0, reach: [0, 0] };
}
var DEAD = 0.01;
var DEAD_AT = -Math.log((1 - Math.sqrt(1 - DEAD)) / (1 + Math.sqrt(1 - DEAD)));
function sigmoid(tau, clamp = Infinity) {
  const cut = (u) => Math.min(clamp, Math.max(-clamp, u));
  return {
    value: (gap) => sigma(cut(gap / tau)),
    slope: (gap) => Math.abs(gap / tau) <= clamp ? sigmaSlope(gap / tau) / tau : 0,
    reach: [-DEAD_AT * tau, DEAD_AT * tau]
  };
}
function hMinus({ tau = 0.01, rho = 100, delta = 0.05, offset = null, start = 0.5, lift_ties = false } = {}) {
  const afterDelta = offset ?? start + sigma(delta / tau);
  return {
    value(gap) {
      if (gap > delta) return rho * (gap - delta) + afterDelta;
      const lifted = lift_ties ? gap >= 0 : gap > 0;
      return sigma(gap / tau) + (lifted ? start : 0);
    },
    slope: (gap) => gap > delta ? rho : sigmaSlope(gap / tau) / tau,
    reach: [-DEAD_AT * tau, rho > 0 ? Infinity : Math.min(DEAD_AT * tau, delta)]
  };
}
function constantGradient(alpha = 10) {
  return { value: (gap) => gap >= 0 ? 1 : 0, slope: () => alpha, reach: [-Infinity, Infinity] };
}
function linearTail(tau = 0.01, rho = null) {
  const tail = rho ?? 1 / (2 * tau);
  return {
    value: (gap) => gap > 0 ? 1 + tail * gap : 2 * sigma(gap / tau),
    slope: (gap) => gap > 0 ? tail : 2 * sigmaSlope(gap / tau) / tau,
    reach: [-DEAD_AT * tau, tail > 0 ? Infinity : 0]
  };
}
function softBins({ bins = 20, low = -1, high = 1, phase = 0 } = {}) {
  const width = (high - low) / (bins - 1);
  const ramp = (place) => Math.min(1, Math.max(0, place));
  return {
    value(gap) {
      const place = gap / width + phase;
      return (1 - phase) * ramp(1 + place) + phase * ramp(place);
    },
    slope(gap) {
      const place = gap / width + phase;
      const lower = place > -1 && place <= 0 ? 1 : 0;
      const upper = place > 0 && place <= 1 ? 1 : 0;
      return ((1 - phase) * lower + phase * upper) / width;
    },
    reach: [-(1 + phase) * width, phase ? (1 - phase) * width : 0]
  };
}

// playground/losses.js
var STEP_OF_SUP_AP = {
  tau: 0.01,
  rho: 100,
  delta: 0.05,
  offset: null,
  start: 0.5,
  lift_ties: false,
  variant: "paper",
  include_self: null
};
var LOSSES = {
  contrastive: { title: "Contrastive", measure: ofDistances(contrastive), knobs: { pos_margin: 0, neg_margin: 1 } },
  triplet_margin: { title: "Triplet", measure: ofDistances(tripletMargin), knobs: { margin: 0.05 } },
  normalized_softmax: { title: "Normalised softmax", measure: normalizedSoftmax, knobs: { temperature: 0.05 } },
  recall_at_k: {
    title: "Recall@k surrogate",
    measure: recallAtK,
    knobs: { k: null, tau1: 1, tau2: 0.01, simix: false, variant: "paper", include_self: null },
    step: ({ tau2, variant }) => sigmoid(tau2, variant === "released" ? 50 : Infinity)
  },
  smooth_ap: {
    title: "SmoothAP",
    measure: ofCosines(smoothAP),
    knobs: { tau: 0.01, variant: "paper", include_self: null },
    step: ({ tau, variant }) => sigmoid(tau, variant === "released" ? 50 : Infinity)
  },
  sup_ap: {
    title: "SupAP",
    measure: ofCosines(supAP),
    knobs: STEP_OF_SUP_AP,
    step: (knobs) => stepOfSupAP(knobs)
  },
  calibration: {
    title: "Calibration",
    measure: ofCosines(calibration),
    knobs: { alpha: 0.9, beta: 0.6, variant: "paper", include_self: null }
  },
  roadmap: {
    title: "ROADMAP",
    measure: ofCosines(roadmap),
    knobs: {
      lam: 0.5,
      alpha: 0.9,
      beta: 0.6,
      ...STEP_OF_SUP_AP
    },
    step: (knobs) => stepOfSupAP(knobs)
  },
  contextual: {
    title: "Contextual",
    measure: ofCosines(contextual),
    knobs: {
      k: null,
      eps: 0.05,
      alpha: 10,
      delta_pos: 0.75,
      delta_neg: 0.6,
      s_tilde: 0.3,
      lam: 0.4,
      gamma: 0.1,
      variant: "paper"
    }
  },
  class_anchor_margin: {
    title: "Class anchors",
    measure: classAnchorMargin,
    knobs: { m: 2, p: 1, attractor: true, repeller: true, min_norm: true, ordered: true }
  }
};
function lossOf(name, batch, knobs = {}, given = {}) {
  const loss = LOSSES[name];
  if (!loss) throw new Error(`There is no loss '${name}'. Known: ${Object.keys(LOSSES).join(", ")}.`);
  return loss.measure(batch, { ...loss.knobs, ...knobs }, given);
}
function ofCosines(loss) {
  return ({ rows, n, d, labels }, knobs) => {
    const { units, lengths: lengths2 } = unit(rows, n, d);
    const { value, perQuery, slopes } = loss(similarities(units, n, d), n, labels, knobs);
    const gradient = throughUnit(throughSimilarities(slopes, units, n, d), units, lengths2, n, d);
    return { value, perQuery, gradient, pairs: slopes };
  };
}
function ofDistances(loss) {
  return ({ rows, n, d, labels }, knobs) => {
    const { units, lengths: lengths2 } = unit(rows, n, d);
    const distances = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let t = 0; t < d; t++) sum += (units[i * d + t] - units[j * d + t]) ** 2;
        distances[i * n + j] = Math.sqrt(sum);
      }
    }
    const { value, perQuery, slopes } = loss(distances, n, labels, knobs);
    const pairs = slopes.map((slope, i) => distances[i] ? -slope / distances[i] : 0);
    const gradient = throughUnit(throughSimilarities(pairs, units, n, d), units, lengths2, n, d);
    return { value, perQuery, gradient, pairs };
  };
}
function positivesOf(labels, withSelf) {
  return labels.map((label, q) => [...labels.keys()].filter((i) => labels[i] === label && (withSelf || i !== q)));
}
function meanOfQueries(perQuery, slopes, labels) {
  const count = perQuery.filter((value) => !Number.isNaN(value)).length;
  const taught = new Set(labels).size < labels.length;
  const scale = taught && count ? 1 / count : 0;
  return { value: taught ? mean(perQuery) : 0, perQuery, slopes: slopes.map((slope) => slope * scale) };
}
function rankSum(scores, offset, positive, others, step) {
  let sum = 0;
  for (const z of others) if (z !== positive) sum += step.value(scores[offset + z] - scores[offset + positive]);
  const push = (slopes, weight) => {
    if (weight === 0) return;
    for (const z of others) {
      if (z === positive) continue;
      const slope = weight * step.slope(scores[offset + z] - scores[offset + positive]);
      slopes[offset + z] += slope;
      slopes[offset + positive] -= slope;
    }
  };
  return { sum, push };
}
var KS = [1, 2, 4, 8, 16];
var SIMIX_KS = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32];
var FARTHEST = Math.log(22250738585072014e-324 / Number.EPSILON ** 2);
function recallAtK({ rows, n, d, labels }, knobs, { mixing }) {
  const { units, lengths: lengths2 } = unit(rows, n, d);
  const virtual = knobs.simix ? couples(labels) : [];
  const mixed = mixtures(units, n, d, virtual, mixing);
  const all = n + virtual.length;
  const allLabels = [...labels, ...virtual.map(([i]) => labels[i])];
  const released = knobs.variant === "released";
  const ks = (knobs.k ?? (knobs.simix ? SIMIX_KS : KS)).map((k) => released ? Math.min(k, n) : k);
  const result = recallOfCosines(similarities(mixed, all, d), all, allLabels, { ...knobs, ks });
  const wide = throughSimilarities(result.slopes, mixed, all, d);
  virtual.forEach(([i, j], v) => {
    for (let t = 0; t < d; t++) {
      wide[i * d + t] += mixing[v] * wide[(n + v) * d + t];
      wide[j * d + t] += (1 - mixing[v]) * wide[(n + v) * d + t];
    }
  });
  const pairs = result.slopes.filter((_, i) => i % all < n && i < all * n);
  return { ...result, pairs, gradient: throughUnit(wide.subarray(0, n * d), units, lengths2, n, d) };
}
function couples(labels) {
  const found = [];
  for (let i = 0; i < labels.length; i++) {
    for (let j = i + 1; j < labels.length; j++) if (labels[i] === labels[j]) found.push([i, j]);
  }
  return found;
}
function mixtures(units, n, d, virtual, mixing) {
  const mixed = new Float64Array((n + virtual.length) * d);
  mixed.set(units);
  virtual.forEach(([i, j], v) => {
    for (let t = 0; t < d; t++) {
      mixed[(n + v) * d + t] = mixing[v] * units[i * d + t] + (1 - mixing[v]) * units[j * d + t];
    }
  });
  return mixed;
}
function recallOfCosines(scores, n, labels, { ks, tau1, tau2, variant, include_self }) {
  const released = variant === "released";
  const withSelf = include_self ?? released;
  const step = sigmoid(tau2, released ? 50 : Infinity);
  const everyone = [...labels.keys()];
  const slopes = new Float64Array(n * n);
  const perQuery = positivesOf(labels, false).map((positives, q) => {
    if (!positives.length) return NaN;
    const others = withSelf ? everyone : everyone.filter((z) => z !== q);
    const ranks = positives.map((x) => rankSum(scores, q * n, x, others, step));
    const weights = positives.map(() => 0);
    let share = 0;
    for (const k of ks) {
      const logits = ranks.map(({ sum }) => (k - 1 - sum) / tau1);
      const found = logits.reduce((total, u) => total + sigma(Math.max(FARTHEST, u)), 0);
      const most = Math.min(positives.length, k);
      share += Math.min(found, k) / most;
      const felt = found < k ? 1 : found === k ? 0.5 : 0;
      logits.forEach((u, p) => {
        weights[p] += felt * sigmaSlope(u) / (tau1 * most * ks.length);
      });
    }
    ranks.forEach(({ push }, p) => push(slopes, weights[p]));
    return 1 - share / ks.length;
  });
  return meanOfQueries(perQuery, slopes, labels);
}
function smoothAP(scores, n, labels, { tau, variant, include_self }) {
  const released = variant === "released";
  const withSelf = include_self ?? released;
  const step = sigmoid(tau, released ? 50 : Infinity);
  return precisionLoss(scores, n, labels, withSelf, step, step);
}
function stepOfSupAP(knobs) {
  const offset = knobs.offset ?? (knobs.variant === "released" ? 1.44 : null);
  return hMinus({ ...knobs, offset });
}
function supAP(scores, n, labels, knobs) {
  return precisionLoss(scores, n, labels, knobs.include_self ?? true, heaviside(), stepOfSupAP(knobs));
}
function precisionLoss(scores, n, labels, withSelf, among, ahead) {
  const slopes = new Float64Array(n * n);
  const perQuery = positivesOf(labels, withSelf).map((positives, q) => {
    if (!positives.length) return NaN;
    const negatives = [...labels.keys()].filter((z) => labels[z] !== labels[q]);
    let loss = 0;
    for (const x of positives) {
      const close = rankSum(scores, q * n, x, positives, among);
      const far = rankSum(scores, q * n, x, negatives, ahead);
      const rank = 1 + close.sum + far.sum;
      loss += far.sum / rank;
      far.push(slopes, (1 + close.sum) / (rank * rank * positives.length));
      close.push(slopes, -far.sum / (rank * rank * positives.length));
    }
    return loss / positives.length;
  });
  return meanOfQueries(perQuery, slopes, labels);
}
function calibration(scores, n, labels, { alpha, beta, variant, include_self }) {
  const positives = positivesOf(labels, include_self ?? false);
  if (variant === "released") return activePairs(scores, n, labels, positives, alpha, beta);
  const slopes = new Float64Array(n * n);
  const perQuery = positives.map((mine, q) => {
    if (!mine.length) return NaN;
    const negatives = [...labels.keys()].filter((z) => labels[z] !== labels[q]);
    let value = 0;
    for (const x of mine) {
      value += Math.max(0, alpha - scores[q * n + x]) / mine.length;
      if (scores[q * n + x] < alpha) slopes[q * n + x] -= 1 / mine.length;
    }
    for (const z of negatives) {
      value += Math.max(0, scores[q * n + z] - beta) / negatives.length;
      if (scores[q * n + z] > beta) slopes[q * n + z] += 1 / negatives.length;
    }
    return value;
  });
  return meanOfQueries(perQuery, slopes, labels);
}
function activePairs(scores, n, labels, positives, alpha, beta) {
  const slopes = new Float64Array(n * n);
  const far = [];
  const near = [];
  labels.forEach((label, q) => {
    for (const x of positives[q]) if (scores[q * n + x] < alpha) far.push([q, x, alpha - scores[q * n + x]]);
    labels.forEach((other, z) => {
      if (other !== label && scores[q * n + z] > beta) near.push([q, z, scores[q * n + z] - beta]);
    });
  });
  const shares = labels.map(() => 0);
  for (const [violations, sign] of [
    [far, -1],
    [near, 1]
  ]) {
    for (const [q, i, excess] of violations) {
      shares[q] += excess / violations.length;
      slopes[q * n + i] += sign / violations.length;
    }
  }
  const value = shares.reduce((sum, share) => sum + share, 0);
  const perQuery = shares.map((share, q) => positives[q].length ? n * share : NaN);
  return { value, perQuery, slopes };
}
function roadmap(scores, n, labels, knobs) {
  const ranking = supAP(scores, n, labels, knobs);
  const level = calibration(scores, n, labels, { ...knobs, include_self: null });
  const weights = knobs.variant === "released" ? [1, 1] : [1 - knobs.lam, knobs.lam];
  const [first, second] = new Set(labels).size < n ? weights : [0, 0];
  const mix = (a, b) => first * a + second * b;
  return {
    value: mix(ranking.value, level.value),
    perQuery: ranking.perQuery.map((value, q) => mix(value, level.perQuery[q])),
    slopes: ranking.slopes.map((slope, i) => mix(slope, level.slopes[i]))
  };
}
function contrastive(distances, n, labels, { pos_margin, neg_margin }) {
  const scores = distances.map((distance) => -distance);
  const result = activePairs(scores, n, labels, positivesOf(labels, false), -pos_margin, -neg_margin);
  return { ...result, slopes: result.slopes.map((slope) => -slope) };
}
function tripletMargin(distances, n, labels, { margin }) {
  const slopes = new Float64Array(n * n);
  const shares = labels.map(() => 0);
  const positives = positivesOf(labels, false);
  let count = 0;
  labels.forEach((label, a) => {
    for (const p of positives[a]) {
      labels.forEach((other, z) => {
        const excess = distances[a * n + p] - distances[a * n + z] + margin;
        if (other === label || excess <= 0) return;
        count++;
        shares[a] += excess;
        slopes[a * n + p]++;
        slopes[a * n + z]--;
      });
    }
  });
  const scale = count ? 1 / count : 0;
  return {
    value: shares.reduce((sum, share) => sum + share, 0) * scale,
    perQuery: shares.map((share, q) => positives[q].length ? n * share * scale : NaN),
    slopes: slopes.map((slope) => slope * scale)
  };
}
function normalizedSoftmax({ rows, n, d, labels }, { temperature }, { weights }) {
  const classes = weights.length / d;
  const { units, lengths: lengths2 } = unit(rows, n, d);
  const centres = unit(weights, classes, d);
  const rowGradient = new Float64Array(n * d);
  const centreGradient = new Float64Array(classes * d);
  const perQuery = labels.map((label, i) => {
    const logits = Array.from({ length: classes }, (_, c) => {
      let sum = 0;
      for (let t = 0; t < d; t++) sum += units[i * d + t] * centres.units[c * d + t];
      return sum / temperature;
    });
    const highest = Math.max(...logits);
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
    logits.forEach((logit, c) => {
      const slope = (Math.exp(logit - highest) / total - (c === label ? 1 : 0)) / (temperature * n);
      for (let t = 0; t < d; t++) {
        rowGradient[i * d + t] += slope * centres.units[c * d + t];
        centreGradient[c * d + t] += slope * units[i * d + t];
      }
    });
    return highest + Math.log(total) - logits[label];
  });
  return {
    value: mean(perQuery),
    perQuery,
    gradient: throughUnit(rowGradient, units, lengths2, n, d),
    weights: throughUnit(centreGradient, centres.units, centres.lengths, classes, d)
  };
}
function classAnchorMargin({ rows, n, d, labels }, { m, p, attractor, repeller, min_norm, ordered }, { weights }) {
  const classes = weights.length / d;
  const gradient = new Float64Array(n * d);
  const anchorGradient = new Float64Array(classes * d);
  let apart = 0;
  const lengthOf = (c) => Math.hypot(...weights.subarray(c * d, (c + 1) * d));
  for (let c = 0; c < classes && min_norm; c++) {
    const lack = Math.max(0, p - lengthOf(c));
    apart += 0.5 * lack * lack;
    if (lack && lengthOf(c)) {
      for (let t = c * d; t < (c + 1) * d; t++) anchorGradient[t] -= lack * weights[t] / lengthOf(c);
    }
  }
  for (let a = 0; a < classes && repeller; a++) {
    for (let b = 0; b < a; b++) {
      const gap = Array.from({ length: d }, (_, t) => weights[a * d + t] - weights[b * d + t]);
      const distance = Math.hypot(...gap);
      const overlap = Math.max(0, 2 * m - distance);
      const weight = ordered ? 1 : 0.5;
      apart += weight * overlap * overlap;
      if (!overlap || !distance) continue;
      gap.forEach((part, t) => {
        const push = 2 * weight * overlap * part / distance;
        anchorGradient[a * d + t] -= push;
        anchorGradient[b * d + t] += push;
      });
    }
  }
  const perQuery = labels.map((label, i) => {
    let value = 0;
    for (let t = 0; t < d && attractor; t++) {
      const off = rows[i * d + t] - weights[label * d + t];
      value += 0.5 * off * off;
      gradient[i * d + t] += off / n;
      anchorGradient[label * d + t] -= off / n;
    }
    return value + apart;
  });
  return { value: mean(perQuery), perQuery, gradient, weights: anchorGradient };
}
function contextual(scores, n, labels, knobs) {
  const classes = new Set(labels).size;
  const k = knobs.k ?? Math.max(1, roundHalfToEven(n / classes));
  const context = contextOf(scores, n, labels, k, knobs);
  const positives = positivesOf(labels, false);
  const pairs = activePairs(scores, n, labels, positives, knobs.delta_pos, knobs.delta_neg);
  const average = scores.reduce((sum, score) => sum + score, 0) / (n * n);
  const level = (knobs.s_tilde - average) ** 2;
  const { lam, gamma, variant } = knobs;
  const [first, second] = {
    paper: [lam, 1 - lam],
    released: [lam, 1 - lam - gamma],
    released_224: [1 - lam, lam]
  }[variant];
  const shared = labels.map((_, q) => first * context.shares[q] + gamma * level);
  const pairShare = (q) => positives[q].length ? second * pairs.perQuery[q] : NaN;
  const ofLevel = gamma * -2 * (knobs.s_tilde - average) / (n * n);
  return {
    value: first * mean(context.shares) + second * pairs.value + gamma * level,
    perQuery: shared.map((share, q) => share + pairShare(q)),
    slopes: context.slopes.map((slope, i) => first * slope + second * pairs.slopes[i] + ofLevel)
  };
}
function contextOf(scores, n, labels, k, { eps, alpha }) {
  const distances = scores.map((score) => Math.max(0, 2 - 2 * score));
  const near = neighbours(distances, n, k, eps);
  const close = neighbours(distances, n, Math.max(1, Math.floor(k / 2)), eps);
  const inside = rowSums(near, n);
  const outside = inside.map((size2) => n - size2);
  const both = timesTransposed(near, near, n);
  const neither = both.map((count, i) => n - inside[Math.floor(i / n)] - inside[i % n] + count);
  const shared = divided(both, inside, n);
  const strangers = divided(neither, outside, n);
  const agreement = shared.map((share, i) => (share + strangers[i]) / 2);
  const alike = agreement.map((one, i) => one * near[i]);
  const mutual = close.map((one, i) => one * close[mirror(i, n)]);
  const size = rowSums(mutual, n);
  const averaged = divided(times(mutual, alike, n), size, n);
  const shares = labels.map(() => 0);
  const errors = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) continue;
      const w = (averaged[i * n + j] + averaged[j * n + i]) / 2;
      const off = w - (labels[i] === labels[j] ? 1 : 0);
      shares[i] += off * off / n;
      errors[i * n + j] = 2 * off / (n * n);
    }
  }
  const ofAveraged = errors.map((one, i) => (one + errors[mirror(i, n)]) / 2);
  const ofProduct = divided(ofAveraged, size, n);
  const ofMutual = timesTransposed(ofProduct, alike, n);
  const ofSize = rowSums(
    ofAveraged.map((one, i) => one * averaged[i]),
    n
  );
  for (let i = 0; i < n; i++) {
    if (size[i]) for (let j = 0; j < n; j++) ofMutual[i * n + j] -= ofSize[i] / size[i];
  }
  const ofAlike = times(transposed(mutual, n), ofProduct, n);
  const ofAgreement = ofAlike.map((one, i) => one * near[i]);
  const ofNear = ofAlike.map((one, i) => one * agreement[i]);
  const ofCount = (sizes) => {
    const half = divided(ofAgreement, sizes, n).map((one) => one / 2);
    return half.map((one, i) => one + half[mirror(i, n)]);
  };
  const ofBoth = ofCount(inside);
  const ofNeither = ofCount(outside);
  const ofShared = times(
    ofBoth.map((one, i) => one + ofNeither[i]),
    near,
    n
  );
  const alone = rowSums(ofNeither, n);
  ofShared.forEach((one, i) => ofNear[i] += one - alone[Math.floor(i / n)]);
  const ofClose = ofMutual.map((one, i) => one * close[mirror(i, n)] + ofMutual[mirror(i, n)] * close[mirror(i, n)]);
  const slopes = ofNear.map((one, i) => 2 - 2 * scores[i] >= 0 ? 2 * alpha * (one + ofClose[i]) : 0);
  return { shares, slopes };
}
function neighbours(distances, n, k, eps) {
  const near = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = distances.subarray(i * n, (i + 1) * n);
    const kth = row.toSorted()[Math.min(k, n) - 1];
    row.forEach((distance, j) => near[i * n + j] = kth - distance + eps >= 0 ? 1 : 0);
  }
  return near;
}
var mirror = (i, n) => i % n * n + Math.floor(i / n);
var transposed = (matrix, n) => matrix.map((_, i) => matrix[mirror(i, n)]);
var timesTransposed = (a, b, n) => transposed(times(b, transposed(a, n), n), n);
function times(a, b, n) {
  const product = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let t = 0; t < n; t++) {
      const weight = a[i * n + t];
      if (weight === 0) continue;
      for (let j = 0; j < n; j++) product[i * n + j] += weight * b[t * n + j];
    }
  }
  return product;
}
function rowSums(matrix, n) {
  return Array.from({ length: n }, (_, i) => matrix.subarray(i * n, (i + 1) * n).reduce((sum, one) => sum + one, 0));
}
function divided(matrix, sizes, n) {
  return matrix.map((one, i) => sizes[Math.floor(i / n)] ? one / sizes[Math.floor(i / n)] : one);
}
function roundHalfToEven(number2) {
  const down = Math.floor(number2);
  return number2 - down === 0.5 ? down + down % 2 : Math.round(number2);
}

// playground/controls.js
var FIRST = {
  contrastive: ["pos_margin", "neg_margin"],
  triplet_margin: ["margin"],
  normalized_softmax: ["temperature"],
  recall_at_k: ["tau2", "tau1", "simix"],
  smooth_ap: ["tau"],
  sup_ap: ["tau", "rho"],
  calibration: ["alpha", "beta"],
  roadmap: ["lam", "tau"],
  contextual: ["lam", "eps"],
  class_anchor_margin: ["m", "p"]
};
var Controls = class {
  /**
   * @param {HTMLFormElement} form with the fields that every loss has
   * @param {object} data what lab tells: sets of images, and `knobs` of each loss
   * @param {{onLoss, onKnob, onSet, onMode, onSpace, onBatches, onRate}} handlers
   */
  constructor(form, data2, handlers) {
    this.form = form;
    this.data = data2;
    this.handlers = handlers;
    const field = (name) => form.elements[name];
    options(
      field("loss"),
      Object.entries(LOSSES).map(([name, { title }]) => [name, title])
    );
    options(
      field("set"),
      Object.values(data2.sets).map(({ name, title }) => [name, title])
    );
    field("loss").addEventListener("change", (event) => handlers.onLoss(event.target.value));
    field("set").addEventListener("change", (event) => handlers.onSet(event.target.value));
    field("mode").addEventListener("change", (event) => handlers.onMode(event.target.value));
    field("space").addEventListener("change", (event) => handlers.onSpace(Number(event.target.value)));
    field("batches").addEventListener("change", (event) => handlers.onBatches(Number(event.target.value)));
    field("rate").addEventListener("input", (event) => handlers.onRate(10 ** Number(event.target.value)));
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  /** Show a state; the settings are made anew when the loss is another one. */
  show(state, set) {
    const { form } = this;
    options(form.elements.space, spaces(state, set));
    options(form.elements.mode, [["points", "the points"], ...set.pixels ? [["encoder", "a tiny encoder"]] : []]);
    const values = { loss: state.loss, set: state.set, mode: state.mode, space: state.d, batches: state.batches };
    for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
    form.elements.rate.value = Math.log10(state.rate);
    form.querySelector("#rate-value").textContent = short(state.rate);
    const knobs = { ...LOSSES[state.loss].knobs, ...state.knobs };
    if (this.shown !== state.loss) this.build(state.loss);
    this.shown = state.loss;
    for (const [name, { set: set2 }] of Object.entries(this.fields)) set2(knobs[name]);
  }
  build(loss) {
    const declared = this.data.knobs[loss].filter(({ name }) => name in LOSSES[loss].knobs);
    const ordered = [...FIRST[loss], ...declared.map(({ name }) => name).filter((name) => !FIRST[loss].includes(name))];
    const [first, more] = ["settings", "more-settings"].map((id) => document.getElementById(id));
    first.replaceChildren();
    more.replaceChildren();
    this.fields = {};
    for (const name of ordered) {
      const knob = declared.find((one) => one.name === name);
      this.fields[name] = fieldOf(knob, (value) => this.handlers.onKnob(name, value));
      (FIRST[loss].includes(name) ? first : more).append(this.fields[name].element);
    }
    more.closest("details").hidden = !more.children.length;
  }
};
function spaces(state, set) {
  if (set.rows) return [[state.d, `${state.d} numbers, as handed over`]];
  return [
    [2, "a circle (2 numbers)"],
    [3, "a sphere (3 numbers)"],
    [8, "8 numbers, seen from the side"]
  ];
}
function fieldOf(knob, onValue) {
  const element = document.createElement("div");
  element.className = "field";
  const label = element.appendChild(document.createElement("label"));
  label.htmlFor = `of-${knob.name}`;
  label.innerHTML = "<b></b> <small></small>";
  label.firstChild.textContent = knob.label;
  label.lastChild.textContent = knob.help;
  const make = knob.kind === "bool" ? tick : knob.choices ? choice : knob.kind === "lengths" ? lengths : slider;
  return { element, set: make(knob, element, onValue) };
}
function tick(knob, element, onValue) {
  const input = Object.assign(document.createElement("input"), { type: "checkbox", id: `of-${knob.name}` });
  input.addEventListener("change", () => onValue(input.checked));
  element.prepend(input);
  element.classList.add("tick");
  return (value) => input.checked = value;
}
function choice(knob, element, onValue) {
  const select = Object.assign(document.createElement("select"), { id: `of-${knob.name}` });
  options(select, knob.choices);
  select.addEventListener("change", () => onValue(JSON.parse(select.value)));
  element.append(select);
  return (value) => select.value = JSON.stringify(value);
}
function lengths(knob, element, onValue) {
  const input = document.createElement("input");
  Object.assign(input, { type: "text", id: `of-${knob.name}`, placeholder: "those of the paper" });
  input.addEventListener("change", () => {
    const numbers = input.value.split(",").map((word) => Number(word.trim()));
    const fit = input.value.trim() && numbers.every((one) => Number.isInteger(one) && one > 0);
    input.setCustomValidity(
      fit || !input.value.trim() ? "" : "Whole numbers from 1, parted by commas, such as 1, 2, 4."
    );
    if (input.reportValidity()) onValue(fit ? numbers : null);
  });
  element.append(input);
  return (value) => input.value = value?.join(", ") ?? "";
}
function slider(knob, element, onValue) {
  const { low, high, log, whole } = knob;
  const position = (value) => log ? Math.log10(value) : value;
  const input = Object.assign(document.createElement("input"), {
    type: "range",
    id: `of-${knob.name}`,
    min: position(low),
    max: position(high),
    step: whole ? 1 : (position(high) - position(low)) / 200
  });
  const number2 = document.createElement("output");
  input.addEventListener("input", () => {
    const value = Number((log ? 10 ** input.value : Number(input.value)).toPrecision(3));
    number2.textContent = short(value);
    onValue(value);
  });
  element.append(number2, input);
  const automatic = knob.default === null ? "automatic" : "";
  return (value) => {
    input.value = position(value ?? Math.sqrt(low * high) ?? low);
    number2.textContent = value === null ? automatic : short(value);
    input.setAttribute("aria-valuetext", number2.textContent);
  };
}
var short = (value) => value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
function options(select, entries) {
  const now = [...select.options].map(({ value, text }) => `${value} ${text}`).join();
  if (now === entries.map(([value, text]) => `${value} ${text}`).join()) return;
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

// playground/random.js
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = state + 1831565813 >>> 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
}
function normal(draw) {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

// playground/encoder.js
var LEAP = 0.06;
var Points = class {
  constructor(rows, d, free) {
    this.weights = Float32Array.from(rows);
    this.d = d;
    this.free = free;
  }
  get rows() {
    return Float64Array.from(this.weights);
  }
  /** One step of gradient descent; gradient: n * d, of the loss's mean, so that a row's own part is n times as large. */
  descend(gradient, rate) {
    const { d } = this;
    const n = gradient.length / d;
    for (let i = 0; i < n; i++) {
      const step = Array.from({ length: d }, (_, t) => -rate * n * gradient[i * d + t]);
      const length2 = Math.hypot(...step);
      const scale = length2 > LEAP && !this.free ? LEAP / length2 : 1;
      step.forEach((part, t) => this.weights[i * d + t] += part * scale);
      if (!this.free) this.toUnit(i);
    }
  }
  /** Put a row somewhere; on the circle or sphere it keeps the direction alone. */
  place(i, row) {
    row.forEach((part, t) => this.weights[i * this.d + t] = part);
    if (!this.free) this.toUnit(i);
  }
  toUnit(i) {
    const row = this.weights.subarray(i * this.d, (i + 1) * this.d);
    const length2 = Math.hypot(...row);
    if (length2 > 0) row.forEach((part, t) => row[t] = part / length2);
  }
  /** What a later `restore` needs. */
  snapshot() {
    return [this.weights.slice()];
  }
  restore([weights]) {
    this.weights = weights.slice();
  }
};
var Encoder = class {
  /** @param pixels n rows of numbers in [-1, 1] */
  constructor(pixels, d, seed) {
    this.pixels = pixels;
    this.wide = pixels[0].length;
    this.d = d;
    const draw = random(seed);
    const weights = Float32Array.from({ length: this.wide * d }, () => normal(draw) / Math.sqrt(this.wide));
    this.restore([weights, new Float32Array(weights.length), new Float32Array(weights.length), 0]);
  }
  get rows() {
    return this.embed(this.pixels);
  }
  /** Rows of any pixels, not scaled to length 1. */
  embed(pixels) {
    const { d, wide, weights } = this;
    const rows = new Float64Array(pixels.length * d);
    pixels.forEach((image, i) => {
      for (let p = 0; p < wide; p++) {
        for (let t = 0; t < d; t++) rows[i * d + t] += image[p] * weights[p * d + t];
      }
    });
    return rows;
  }
  descend(gradient, rate) {
    const { d, wide, pixels } = this;
    const slope = new Float64Array(wide * d);
    pixels.forEach((image, i) => {
      for (let p = 0; p < wide; p++) {
        for (let t = 0; t < d; t++) slope[p * d + t] += image[p] * gradient[i * d + t];
      }
    });
    this.steps++;
    const [first, second] = [1 - 0.9 ** this.steps, 1 - 0.999 ** this.steps];
    slope.forEach((one, i) => {
      this.mean[i] = 0.9 * this.mean[i] + 0.1 * one;
      this.square[i] = 0.999 * this.square[i] + 1e-3 * one * one;
      this.weights[i] -= rate * (this.mean[i] / first) / (Math.sqrt(this.square[i] / second) + 1e-8);
    });
  }
  snapshot() {
    return [this.weights.slice(), this.mean.slice(), this.square.slice(), this.steps];
  }
  restore([weights, mean2, square, steps]) {
    this.weights = weights.slice();
    this.mean = mean2.slice();
    this.square = square.slice();
    this.steps = steps;
  }
};

// playground/state.js
var RATES = {
  contrastive: 0.05,
  triplet_margin: 0.1,
  normalized_softmax: 0.1,
  recall_at_k: 0.3,
  smooth_ap: 0.1,
  sup_ap: 0.03,
  calibration: 0.05,
  roadmap: 0.02,
  contextual: 0.02,
  class_anchor_margin: 0.1
};
var ENCODER_RATE = 3e-3;
var BOUNDS = { d: [2, 4096], query: [0, 63], batches: [1, 3], seed: [0, 999999], step: [0, 1e9] };
function fresh(set, changes = {}) {
  const n = set.labels.length;
  const state = {
    mode: "points",
    set: set.name,
    d: set.rows ? set.rows.length / n : 2,
    loss: "recall_at_k",
    knobs: {},
    rate: null,
    query: 0,
    batches: 1,
    seed: 1,
    step: 0,
    rows: null,
    weights: null,
    log: [],
    ...changes
  };
  state.rate ??= rateOf(state.mode, state.loss);
  state.rows ??= set.rows ? Float32Array.from(set.rows) : scattered(n, state.d, state.seed);
  state.weights ??= classWeights(state.loss, set.labels, state.d, state.seed);
  return state;
}
function rateOf(mode, loss) {
  return mode === "encoder" ? ENCODER_RATE : RATES[loss];
}
function scattered(n, d, seed) {
  const draw = random(seed);
  const rows = [];
  for (let i = 0; i < n; i++) {
    const row = Array.from({ length: d }, () => normal(draw));
    const length2 = Math.hypot(...row);
    rows.push(...row.map((part) => part / length2));
  }
  return Float32Array.from(rows);
}
function classWeights(loss, labels, d, seed) {
  if (!["normalized_softmax", "class_anchor_margin"].includes(loss)) return null;
  return scattered(new Set(labels).size, d, seed + 1);
}
function mixingOf(labels, seed, step) {
  const draw = random(seed * 7919 + step);
  return couples(labels).map(() => draw());
}
function encode(state) {
  const words = {
    mode: state.mode,
    set: state.set,
    d: state.d,
    loss: state.loss,
    rate: state.rate,
    query: state.query,
    batches: state.batches,
    seed: state.seed,
    step: state.step
  };
  for (const [name, value] of Object.entries(state.knobs)) words[`${state.loss}.${name}`] = JSON.stringify(value);
  if (state.mode === "points") {
    words.rows = packed(state.rows);
    if (state.weights) words.weights = packed(state.weights);
  } else if (state.log.length) {
    words.log = JSON.stringify(state.log);
  }
  return new URLSearchParams(words).toString();
}
function decode(text, setOf) {
  if (!text) return null;
  const words = Object.fromEntries(new URLSearchParams(text));
  const set = setOf(words.set ?? "dozen");
  if (!set) throw new Error(`This link asks for the images '${words.set}', which this page does not have.`);
  const changes = { set: set.name };
  if (words.mode) changes.mode = oneOf(words.mode, ["points", "encoder"], "mode");
  if (words.loss) changes.loss = oneOf(words.loss, Object.keys(LOSSES), "loss");
  for (const [name, [low, high]] of Object.entries(BOUNDS)) {
    if (words[name] !== void 0) changes[name] = number(words[name], name, low, high, true);
  }
  if (words.rate !== void 0) changes.rate = number(words.rate, "rate", 1e-6, 10, false);
  const state = fresh(set, changes);
  state.query = Math.min(state.query, set.labels.length - 1);
  state.knobs = knobsOf(words, state.loss);
  if (words.rows) state.rows = unpacked(words.rows, set.labels.length * state.d, "rows");
  if (words.weights && state.weights) state.weights = unpacked(words.weights, state.weights.length, "weights");
  if (words.log) state.log = parsed(words.log, "log");
  return state;
}
function knobsOf(words, loss) {
  const defaults = LOSSES[loss].knobs;
  const given = Object.entries(words).filter(([word]) => word.startsWith(`${loss}.`));
  return Object.fromEntries(
    given.map(([word, text]) => {
      const name = word.slice(loss.length + 1);
      if (!(name in defaults)) throw new Error(`This link sets '${word}', which is no setting of this loss.`);
      return [name, parsed(text, word)];
    })
  );
}
function parsed(text, word) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`This link is damaged: '${word}' cannot be read.`);
  }
}
function oneOf(word, known, what) {
  if (!known.includes(word)) throw new Error(`This link asks for the ${what} '${word}'. Known: ${known.join(", ")}.`);
  return word;
}
function number(text, name, low, high, whole) {
  const value = Number(text);
  if (!(value >= low && value <= high) || whole && !Number.isInteger(value)) {
    throw new Error(`This link sets ${name} to '${text}'; it has to lie between ${low} and ${high}.`);
  }
  return value;
}
function packed(numbers) {
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
function unpacked(text, count, word) {
  let bytes;
  try {
    bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  } catch {
    bytes = [];
  }
  const numbers = bytes.length === 4 * count ? [...new Float32Array(bytes.buffer)] : [];
  if (!numbers.length || !numbers.every(Number.isFinite)) {
    throw new Error(`This link is damaged: '${word}' does not hold ${count} numbers.`);
  }
  return Float32Array.from(numbers);
}

// playground/model.js
var KEPT = 1e3;
var Model = class {
  /**
   * @param {object} state as `state.js` makes it
   * @param {object} set images: labels, names, pixels
   */
  constructor(state, set) {
    this.set = set;
    this.state = state;
    this.n = set.labels.length;
    this.weights = state.weights?.slice() ?? null;
    this.mover = this.newMover();
    this.taken = [];
    this.replay(state.log);
  }
  newMover() {
    const { mode, rows, d, seed } = this.state;
    return mode === "encoder" ? new Encoder(this.set.pixels, d, seed) : new Points(rows, d, this.free);
  }
  /** Whether embeddings keep their length: class anchors live in free space. */
  get free() {
    return this.state.loss === "class_anchor_margin";
  }
  get step() {
    return this.state.step;
  }
  get knobs() {
    return { ...LOSSES[this.state.loss].knobs, ...this.state.knobs };
  }
  /** What the loss puts in the place of the step; null for a loss that has none. */
  get surrogate() {
    return LOSSES[this.state.loss].step?.(this.knobs) ?? null;
  }
  /** Places as they are drawn and ranked, n * d: of length 1 unless the loss lets them run free. */
  get places() {
    const rows = this.mover.rows;
    return this.free ? rows : unit(rows, this.n, this.state.d).units;
  }
  batchOf(i) {
    return i % this.state.batches;
  }
  /** The loss, its gradient, and what the pairs of each batch feel; batches are taken one by one, as in training. */
  measure() {
    const { d, batches, loss, seed, step } = this.state;
    const rows = this.mover.rows;
    const gradient = new Float64Array(this.n * d);
    const pairs = new Float64Array(this.n * this.n);
    const weightGradient = this.weights ? new Float64Array(this.weights.length) : null;
    let value = 0;
    for (let b = 0; b < batches; b++) {
      const members = [...Array(this.n).keys()].filter((i) => this.batchOf(i) === b);
      const labels = members.map((i) => this.set.labels[i]);
      const part = Float64Array.from(members.flatMap((i) => [...rows.subarray(i * d, (i + 1) * d)]));
      const given = { weights: this.weights && Float64Array.from(this.weights), mixing: mixingOf(labels, seed, step) };
      const result = lossOf(loss, { rows: part, n: members.length, d, labels }, this.state.knobs, given);
      value += result.value / batches;
      members.forEach((i, at) => {
        for (let t = 0; t < d; t++) gradient[i * d + t] = result.gradient[at * d + t] / batches;
        members.forEach((j, other) => pairs[i * this.n + j] = result.pairs?.[at * members.length + other] ?? 0);
      });
      weightGradient?.forEach((_, i) => weightGradient[i] += result.weights[i] / batches);
    }
    return { value, gradient, pairs, weightGradient };
  }
  /** Similarities as a search ranks by them, n * n: cosines, or minus the squared distance in free space. */
  scores(places = this.places) {
    const { d } = this.state;
    const products = similarities(places, this.n, d);
    if (!this.free) return products;
    const squares = Float64Array.from({ length: this.n }, (_, i) => products[i * this.n + i]);
    return products.map((product, at) => 2 * product - squares[Math.floor(at / this.n)] - squares[at % this.n]);
  }
  /** A query's ranked list, first first: item, score, whether it is right, soft rank (NaN without a surrogate). */
  list(query, scores = this.scores()) {
    const { labels } = this.set;
    const row = scores.subarray(query * this.n, (query + 1) * this.n);
    const inBatch = [...labels.keys()].filter((i) => i !== query);
    const items = rankedList(query, row, inBatch);
    const soft = this.surrogate ? softRanks(items, row, this.surrogate) : items.map(() => NaN);
    return items.map((item, at) => ({
      item,
      score: row[item],
      right: labels[item] === labels[query],
      soft: soft[at],
      place: at + 1
    }));
  }
  /** Scores of all queries, means: hit rate r@1, recall@k with k positives, average precision; and the gap of batches. */
  metrics(scores = this.scores()) {
    const { labels } = this.set;
    const everyone = [...labels.keys()];
    const told = everyone.map((q) => {
      const row = scores.subarray(q * this.n, (q + 1) * this.n);
      const right = rankedList(q, row, everyone).map((i) => labels[i] === labels[q]);
      return { first: scoresOf(right, 1).hit, ...scoresOf(right, right.filter(Boolean).length) };
    });
    const of = (name) => mean(told.map((one) => one[name]));
    const batchOf = everyone.map((i) => this.batchOf(i));
    const gap = this.state.batches > 1 ? decomposabilityGap(scores, labels, batchOf).gap : NaN;
    return { first: of("first"), recall: of("recall"), precision: of("precision"), gap };
  }
  /** Take a step with a gradient from `measure`, and keep what was before it. */
  descend({ gradient, weightGradient }) {
    const { rate, loss, knobs, batches, mode } = this.state;
    this.keep();
    this.mover.descend(gradient, rate);
    const scale = mode === "points" ? this.n : 1;
    weightGradient?.forEach((slope, i) => this.weights[i] -= rate * scale * slope);
    const settings = { loss, knobs, rate, batches };
    const last = this.state.log.at(-1);
    if (last && JSON.stringify(last.settings) === JSON.stringify(settings)) last.steps++;
    else this.state.log.push({ settings: structuredClone(settings), steps: 1 });
    this.state.step++;
    this.write();
  }
  keep() {
    this.taken.push({
      step: this.step,
      mover: this.mover.snapshot(),
      weights: this.weights?.slice() ?? null,
      log: structuredClone(this.state.log)
    });
    if (this.taken.length > KEPT) this.taken.splice(1, 1);
  }
  /** Go back to the latest kept step that is not after this one. */
  rewind(step) {
    const at = this.taken.findLastIndex((one) => one.step <= step);
    if (at < 0) return;
    const kept = this.taken[at];
    this.taken.length = at;
    this.mover.restore(kept.mover);
    this.weights = kept.weights?.slice() ?? this.weights;
    Object.assign(this.state, { step: kept.step, log: kept.log });
    this.write();
  }
  /** The steps of an address, taken again: an encoder begins from its seed, so the same weights come out. */
  replay(log) {
    if (this.state.mode !== "encoder" || !log.length) return;
    const now = { loss: this.state.loss, knobs: this.state.knobs, rate: this.state.rate, batches: this.state.batches };
    Object.assign(this.state, { log: [], step: 0 });
    for (const { settings, steps } of log) {
      this.change(settings);
      for (let i = 0; i < steps; i++) this.descend(this.measure());
    }
    this.change(now);
  }
  /** Other settings from now on; weights of classes begin anew where another loss needs them. */
  change(settings) {
    const before = this.state.loss;
    Object.assign(this.state, structuredClone(settings));
    if (this.state.loss === before) return;
    this.weights = classWeights(this.state.loss, this.set.labels, this.state.d, this.state.seed);
    if (this.mover instanceof Points) this.mover = new Points(this.places, this.state.d, this.free);
    this.write();
  }
  place(i, row) {
    this.mover.place(i, row);
    this.write();
  }
  /** Where the points stand now belongs to the state, and so to the address. */
  write() {
    if (this.mover instanceof Points) this.state.rows = this.mover.weights;
    this.state.weights = this.weights;
  }
};

// playground/panels.js
var SHARE_FELT = 0.01;
for (const name of ["--ink", "--quiet", "--faint", "--accent", "--pull", "--push", "--felt-ground"])
  CSS.registerProperty({ name, syntax: "<color>", inherits: true, initialValue: "gray" });
var RankedList = class {
  constructor(element, onQuery) {
    this.element = element;
    element.addEventListener("click", (event) => {
      const row = event.target.closest("button");
      if (row) onQuery(Number(row.dataset.item));
    });
  }
  draw(model, measured, list) {
    const { pictures, names } = model.set;
    while (this.element.children.length < list.length) this.element.append(blankRow());
    while (this.element.children.length > list.length) this.element.lastChild.remove();
    const felt = list.map(({ item }) => measured.pairs[model.state.query * model.n + item]);
    const most = Math.max(1e-12, ...felt.map(Math.abs));
    const ofClasses = model.weights !== null;
    list.forEach((one, at) => {
      const row = this.element.children[at];
      const parts = row.firstChild.children;
      const share = Math.abs(felt[at]) / most;
      row.className = one.right ? "right" : "wrong";
      row.firstChild.dataset.item = one.item;
      if (parts[0].getAttribute("src") !== pictures[one.item]) parts[0].src = pictures[one.item];
      parts[1].textContent = one.right ? "✓" : "✗";
      parts[2].textContent = names[one.item];
      parts[3].textContent = one.score.toFixed(3);
      parts[4].textContent = Number.isNaN(one.soft) ? "" : one.soft.toFixed(1);
      const seen = share >= SHARE_FELT;
      parts[5].className = `force ${!seen ? "none" : felt[at] < 0 ? "pull" : "push"}`;
      parts[5].style.setProperty("--share", seen ? Math.sqrt(share) : 0);
      parts[5].textContent = ofClasses ? "" : !seen ? "not felt" : felt[at] < 0 ? "pulled" : "pushed";
    });
  }
};
function blankRow() {
  const row = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  const picture = document.createElement("img");
  picture.alt = "";
  button.append(picture, ...["sign", "name", "score", "soft", "force"].map(span));
  row.append(button);
  return row;
}
function span(name) {
  const element = document.createElement("span");
  element.className = name;
  return element;
}
var StepPlot = class {
  constructor(canvas, caption) {
    this.canvas = canvas;
    this.caption = caption;
  }
  draw(model, list) {
    const step = model.surrogate;
    const figure = this.canvas.closest("figure");
    figure.hidden = !step;
    if (!step) return;
    const gaps = gapsOf(list);
    const seen = gaps.filter((gap) => gap > step.reach[0] && gap < step.reach[1]).length;
    const { pen, wide, high, ink } = sheet(this.canvas);
    const reach = Math.max(0.1, ...gaps.map(Math.abs)) * 1.05;
    const x = (gap) => (gap / reach / 2 + 0.5) * wide;
    const top = 2.2;
    const y = (value) => high - 16 - Math.min(top, value) / top * (high - 22);
    pen.fillStyle = ink("--felt-ground");
    const [low, up] = step.reach.map((gap) => x(Math.max(-reach, Math.min(reach, gap))));
    pen.fillRect(low, 0, Math.max(1.5, up - low), high - 16);
    line(
      pen,
      ink("--faint"),
      [
        [0, y(0)],
        [wide / 2, y(0)],
        [wide / 2, y(1)],
        [wide, y(1)]
      ],
      [4, 4]
    );
    const curve = Array.from({ length: wide + 1 }, (_, i) => [i, y(step.value((i / wide - 0.5) * 2 * reach))]);
    line(pen, ink("--accent"), curve, [], 2);
    for (const gap of gaps) {
      const felt = gap > step.reach[0] && gap < step.reach[1];
      const place = y(step.value(gap));
      pen.strokeStyle = pen.fillStyle = ink("--ink");
      pen.beginPath();
      if (felt) {
        pen.arc(x(gap), place, 3.5, 0, 7);
        pen.fill();
      } else {
        for (const way of [1, -1]) {
          pen.moveTo(x(gap) - 3, place - 3 * way);
          pen.lineTo(x(gap) + 3, place + 3 * way);
        }
        pen.stroke();
      }
    }
    pen.fillStyle = ink("--quiet");
    pen.fillText(`−${reach.toFixed(1)}`, 1, high - 3);
    pen.textAlign = "center";
    pen.fillText("0", wide / 2, high - 3);
    pen.textAlign = "right";
    pen.fillText(reach.toFixed(1), wide - 1, high - 3);
    this.caption.textContent = `The loss feels ${seen} of ${gaps.length} gaps of this query (● felt, × not felt).`;
    this.canvas.setAttribute(
      "aria-label",
      `Stand-in for the step over the similarity gap. ${this.caption.textContent}`
    );
  }
};
function gapsOf(list) {
  return list.filter(({ right }) => right).flatMap((positive) => list.filter((other) => other !== positive).map((other) => other.score - positive.score));
}
var CURVES = [
  { name: "loss", words: "loss (of its largest)", dash: [], ink: "--push" },
  { name: "precision", words: "average precision", dash: [7, 3], ink: "--accent" },
  { name: "first", words: "first answer right", dash: [2, 3], ink: "--pull" }
];
var Course = class {
  constructor(canvas) {
    this.canvas = canvas;
    this.points = [];
  }
  clear() {
    this.points = [];
  }
  add(step, loss, metrics) {
    this.points = this.points.filter((point) => point.step < step);
    this.points.push({ step, loss, ...metrics });
    if (this.points.length > 1200) this.points = this.points.filter((_, i) => i % 2 === 0);
  }
  draw() {
    const { pen, wide, high, ink } = sheet(this.canvas);
    const first = this.points[0]?.step ?? 0;
    const last = Math.max(first + 20, this.points.at(-1)?.step ?? 0);
    const most = Math.max(1e-9, ...this.points.map(({ loss }) => Math.abs(loss)));
    const x = (step) => (step - first) / (last - first) * (wide - 2) + 1;
    const y = (share) => 4 + (1 - share) * (high - 22);
    line(pen, ink("--faint"), [
      [0, y(0)],
      [wide, y(0)]
    ]);
    line(
      pen,
      ink("--faint"),
      [
        [0, y(1)],
        [wide, y(1)]
      ],
      [2, 4]
    );
    for (const { name, dash, ink: colour } of CURVES) {
      const share = (point) => name === "loss" ? Math.max(0, point.loss / most) : point[name];
      line(
        pen,
        ink(colour),
        this.points.map((point) => [x(point.step), y(share(point))]),
        dash,
        2
      );
    }
    pen.fillStyle = ink("--quiet");
    pen.fillText(`step ${first}`, 1, high - 3);
    pen.textAlign = "right";
    pen.fillText(`step ${last}`, wide - 1, high - 3);
    const now = this.points.at(-1);
    if (!now) return;
    const words = CURVES.map(({ name, words: what }) => `${what} ${now[name].toFixed(3)}`).join(", ");
    this.canvas.setAttribute("aria-label", `Course over the steps. At step ${now.step}: ${words}.`);
  }
};
function legendOf(element) {
  element.replaceChildren(
    ...CURVES.map(({ words, dash, ink }) => {
      const item = span("key");
      item.innerHTML = `<svg width="26" height="8" aria-hidden="true"><path d="M0 4H26" stroke="var(${ink})"
      stroke-width="2" stroke-dasharray="${dash.join(" ")}"/></svg>`;
      item.append(words);
      return item;
    })
  );
}
function sheet(canvas) {
  const wide = Math.round(canvas.clientWidth) || 300;
  const high = Math.round(canvas.clientHeight) || 110;
  const dense = globalThis.devicePixelRatio || 1;
  if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(high * dense)) {
    canvas.width = Math.round(wide * dense);
    canvas.height = Math.round(high * dense);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, wide, high);
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "left";
  const style = getComputedStyle(canvas);
  return { pen, wide, high, ink: (name) => style.getPropertyValue(name) };
}
function line(pen, colour, points, dash = [], width = 1) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  points.forEach(([x, y], i) => i ? pen.lineTo(x, y) : pen.moveTo(x, y));
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}

// playground/scenarios.js
var radians = (degrees) => degrees / 180 * Math.PI;
var onCircle = (degrees) => Float32Array.from(degrees.map(radians).flatMap((at) => [Math.cos(at), Math.sin(at)]));
var onSphere = (pairs) => Float32Array.from(
  pairs.flatMap(([east, north]) => {
    const [a, b] = [radians(east), radians(north)];
    return [Math.cos(b) * Math.cos(a), Math.sin(b), Math.cos(b) * Math.sin(a)];
  })
);
var HALVES = [
  [0, 0],
  [180, 0],
  [60, 40],
  [240, -40],
  [120, -40],
  [300, 40],
  [30, 70],
  [210, -70]
];
var AROUND = [
  [0, 4],
  [7, -3],
  [-6, 0]
];
var BATCHES = [
  [321, 25],
  [278, 216],
  [136, 198],
  [115, 50]
];
var NEAR = [-4, -3.2, 0, 0.4, 4, 3.6];
var SCENARIOS = [
  {
    name: "start",
    title: "Find the other tigers",
    words: "The tiger with the double ring asks. Press play: the loss moves every picture until each finds its own kind. Then drag a picture away and see who follows.",
    state: { set: "dozen", d: 3, loss: "recall_at_k", knobs: { k: [1, 2], tau2: 0.1 }, seed: 7 }
  },
  {
    name: "hopeless",
    title: "A hopeless query",
    words: "The other two tigers stand on the far side. SmoothAP does not feel them: every gap lies beyond the reach of its temperature. SupAP has a slope there, but divides it by the square of the rank. ROADMAP pulls them back, since its calibration counts no ranks.",
    state: {
      set: "dozen",
      d: 3,
      loss: "smooth_ap",
      knobs: { tau: 0.01 },
      rows: onSphere([
        [0, 0],
        [150, 20],
        [165, -15],
        [40, 30],
        [55, 20],
        [48, 45],
        [60, -30],
        [75, -20],
        [70, -45],
        [-60, 10],
        [-75, 0],
        [-68, 25]
      ])
    }
  },
  {
    name: "halves",
    title: "Two halves of a class",
    words: "Each picture has its own kind beside it: the first answer is always right. The other half of its class is lost on the far side, and average precision says so. Play with this loss, then with ROADMAP.",
    state: {
      set: "two_dozen",
      d: 3,
      loss: "recall_at_k",
      knobs: { k: [1] },
      rows: onSphere(HALVES.flatMap(([a, b]) => AROUND.map(([c, d]) => [a + c, b + d])))
    }
  },
  {
    name: "small_tau",
    title: "A temperature too small",
    words: "No first answer is right, and nothing moves: with τ₂ = 0.0003 every gap of this query lies where the sigmoid is flat. Raise τ₂ until crosses turn into dots, and play.",
    state: {
      set: "dozen",
      loss: "recall_at_k",
      knobs: { k: [1, 2], tau2: 3e-4 },
      rows: onCircle([0, 50, 95, 20, 70, 130, 170, 215, 260, 190, 240, 305])
    }
  },
  {
    name: "pushed",
    title: "A positive that is pushed away",
    words: "Both tigers stand first, and yet the nearer one is pushed away (“pushed” beside a ✓): it counts in the rank of the other. SupAP counts positives by the hard step, and never pushes one.",
    state: {
      set: "dozen",
      loss: "recall_at_k",
      knobs: { k: [2], tau1: 0.2, tau2: 0.05 },
      rows: onCircle([0, 22, 34, 40, 150, 200, -70, 170, 230, 100, 250, -120])
    }
  },
  {
    name: "lost_set",
    title: "Perfect batches, a lost set",
    words: "The pictures are dealt out into two batches. Within each batch every list is right, and SupAP is content. In the whole set many lists are wrong: that is the decomposability gap. ROADMAP adds a calibration that closes it.",
    state: {
      set: "two_dozen",
      loss: "sup_ap",
      knobs: {},
      batches: 2,
      rows: onCircle(BATCHES.flatMap((two) => NEAR.map((off, i) => two[i % 2] + off)))
    }
  },
  {
    name: "encoder",
    title: "A tiny encoder learns",
    words: "Now a network moves the pictures: 8 × 8 pixels, one layer, two numbers. It begins at random. Change the loss or its temperature while it runs, and rewind.",
    state: { set: "kinds", mode: "encoder", loss: "smooth_ap", knobs: { tau: 0.05 } }
  }
];
function scenario(name) {
  return SCENARIOS.find((one) => one.name === name);
}

// playground/stage.js
var SVG = "http://www.w3.org/2000/svg";
var SIDES = [0, 4, 3, 6, 5, 8, 7, 10];
var SIZE = 0.17;
var LONGEST = 0.42;
var NUDGE = 0.1;
var Stage = class {
  /**
   * @param {SVGSVGElement} svg
   * @param {{onQuery: (i: number) => void, onPlace: (i: number, row: number[]) => void}} handlers
   */
  constructor(svg, handlers) {
    this.svg = svg;
    this.handlers = handlers;
    this.turn = { yaw: 0.5, pitch: 0.35 };
    this.layers = ["ground", "lines", "arrows", "weights", "items"].map((name) => add(svg, "g", { class: name }));
    svg.addEventListener("pointerdown", (event) => this.take(event));
    svg.addEventListener("pointermove", (event) => this.pull(event));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => this.held = null);
    svg.addEventListener("keydown", (event) => this.nudge(event));
  }
  /** Another set, or another space: everything is made anew. */
  build(model) {
    this.model = model;
    const [ground, lines, arrows, weights, items] = this.layers;
    for (const layer of this.layers) layer.replaceChildren();
    this.basis = model.state.d > 3 ? principalPlane(model.places, model.n, model.state.d) : null;
    add(ground, "circle", { r: 1 });
    if (model.state.d === 3) this.rings = [0, 1, 2].map(() => add(ground, "path", { class: "ring" }));
    this.lines = repeat(model.n, () => add(lines, "line"));
    this.arrows = repeat(model.n, () => add(arrows, "path"));
    this.anchors = repeat(model.weights ? model.weights.length / model.state.d : 0, (c) => this.anchor(weights, c));
    this.items = repeat(model.n, (i) => this.item(items, i));
    this.svg.classList.toggle("fixed", model.state.mode === "encoder");
  }
  /** Turn a sphere so that the query is seen from the front. */
  face() {
    const [x, y, z] = this.row(this.model.state.query);
    this.turn = { yaw: Math.atan2(-x, z) + 0.35, pitch: Math.atan2(y, Math.hypot(x, z)) - 0.25 };
  }
  item(layer, i) {
    const { labels, names, pictures } = this.model.set;
    const group = add(layer, "g", { class: `item class${labels[i] % 8}`, tabindex: i ? -1 : 0, role: "button" });
    group.dataset.item = i;
    const size = this.model.n > 30 ? SIZE * 0.6 : SIZE;
    add(group, "circle", { class: "ask", r: size * 0.95 });
    add(group, "path", { class: "frame", d: polygon(SIDES[labels[i] % SIDES.length], size * 0.72) });
    if (pictures[i]) {
      add(group, "image", { href: pictures[i], x: -size / 2, y: -size / 2, width: size, height: size });
    }
    add(group, "title").textContent = names[i];
    return group;
  }
  anchor(layer, c) {
    const group = add(layer, "g", { class: `anchor class${c % 8}` });
    if (this.model.free) add(group, "circle");
    add(group, "path", { d: polygon(4, 0.07) });
    add(group, "title").textContent = `${this.model.free ? "Anchor" : "Class weight"} of ${this.model.set.kinds[c]}`;
    return group;
  }
  /** Put everything where it is now; measured: as `Model.measure` gives it, list: the query's ranked list. */
  draw(measured, list) {
    const { model } = this;
    const { d, query } = model.state;
    const places = model.places;
    const at = (rows, i) => this.project(rows.subarray(i * d, (i + 1) * d));
    const spots = repeat(model.n, (i) => at(places, i));
    const centres = this.anchors.map((_, c) => at(this.shown(model.weights), c));
    this.fit([
      ...spots,
      ...centres.flatMap(
        ({ x, y }) => [-1, 1].map((way) => {
          const radius = way * (this.model.free ? this.model.knobs.m : 0);
          return { x: x + radius, y: y + radius };
        })
      )
    ]);
    if (d === 3) this.rings.forEach((ring, axis) => ring.setAttribute("d", this.greatCircle(axis)));
    this.anchors.forEach((group, c) => {
      move(group, centres[c]);
      if (model.free) group.firstChild.setAttribute("r", model.knobs.m);
    });
    const places3 = new Map(list.map((one) => [one.item, one]));
    this.items.forEach((group, i) => {
      move(group, spots[i]);
      group.classList.toggle("query", i === query);
      group.classList.toggle("behind", spots[i].depth < 0);
      group.setAttribute("aria-label", this.words(i, spots[i], places3.get(i)));
      group.setAttribute("aria-pressed", i === query);
    });
    this.drawForces(measured, spots);
    this.drawLines(measured, spots, list);
  }
  /** Class weights count by their direction, anchors as they are. */
  shown(weights) {
    if (this.model.free) return Float64Array.from(weights);
    const { d } = this.model.state;
    const out = Float64Array.from(weights);
    for (let c = 0; c < out.length / d; c++) {
      const row = out.subarray(c * d, (c + 1) * d);
      const length2 = Math.hypot(...row) || 1;
      row.forEach((part, t) => row[t] = part / length2 * 1.12);
    }
    return out;
  }
  words(i, spot, listed) {
    const { names } = this.model.set;
    if (!listed) return `${names[i]}, the query`;
    const degrees = Math.round(Math.atan2(-spot.y, spot.x) * 180 / Math.PI);
    const where = this.model.state.d === 2 ? `, at ${degrees} degrees` : "";
    return `${names[i]}, rank ${listed.place}, ${listed.right ? "right" : "wrong"}${where}`;
  }
  /** Arrows to where a step would push each item, relative to the strongest one. */
  drawForces({ gradient }, spots) {
    const { n, places, state, mover } = this.model;
    const rows = mover.rows;
    const ends = repeat(n, (i) => {
      const row = places.subarray(i * state.d, (i + 1) * state.d);
      const push = gradient.subarray(i * state.d, (i + 1) * state.d);
      return { row, push, strength: Math.hypot(...push) * length(rows, i, state.d) };
    });
    const strongest = Math.max(...ends.map(({ strength }) => strength));
    this.strongest = strongest * n;
    this.arrows.forEach((arrow, i) => {
      const { row, push, strength } = ends[i];
      const long = strongest > 1e-12 ? LONGEST * this.zoom * Math.sqrt(strength / strongest) : 0;
      if (long < 0.03 * this.zoom) return arrow.setAttribute("d", "");
      const scale = long / (Math.hypot(...push) || 1);
      const tip = this.project(row.map((part, t) => part - push[t] * scale));
      arrow.setAttribute("d", arrowPath(spots[i], tip, 0.035 * this.zoom));
    });
  }
  /** Lines from the query to what it feels: whole where it pulls, dashed where it pushes away. */
  drawLines({ pairs }, spots, list) {
    const { n, state } = this.model;
    const felt = list.map(({ item }) => pairs[state.query * n + item]);
    const most = Math.max(1e-12, ...felt.map(Math.abs));
    this.lines.forEach((line2) => line2.setAttribute("class", "none"));
    list.forEach(({ item }, at) => {
      const share = Math.abs(felt[at]) / most;
      if (share < 0.01) return;
      const line2 = this.lines[item];
      line2.setAttribute("class", felt[at] < 0 ? "pull" : "push");
      line2.style.strokeWidth = (8e-3 + 0.03 * share) * this.zoom;
      const ends = { x1: spots[state.query].x, y1: spots[state.query].y, x2: spots[item].x, y2: spots[item].y };
      for (const [name, value] of Object.entries(ends)) line2.setAttribute(name, value);
    });
  }
  /** A row on the page: x to the right, y down, depth towards the eye. */
  project(row) {
    if (row.length === 2) return { x: row[0], y: -row[1], depth: 1 };
    if (row.length === 3) {
      const [x, y, z] = this.turned(row);
      return { x, y: -y, depth: z };
    }
    const along = (axis) => row.reduce((sum, part, t) => sum + part * axis[t], 0);
    return { x: along(this.basis[0]), y: -along(this.basis[1]), depth: 1 };
  }
  turned([x, y, z]) {
    const { yaw, pitch } = this.turn;
    const [c, s, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const right = c * x + s * z;
    const deep = -s * x + c * z;
    return [right, cp * y - sp * deep, sp * y + cp * deep];
  }
  /** The row of a place on the page, for the item that stands at `row` now. */
  unproject(x, y, row) {
    if (row.length === 2) return [x, -y];
    if (row.length > 3) {
      const now = this.project(row);
      return row.map((part, t) => part + (x - now.x) * this.basis[0][t] + (now.y - y) * this.basis[1][t]);
    }
    const { yaw, pitch } = this.turn;
    const [c, s, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const flat = Math.hypot(x, y);
    const [a, b] = flat > 1 ? [x / flat, -y / flat] : [x, -y];
    const near = Math.sqrt(Math.max(0, 1 - a * a - b * b));
    const height = cp * b + sp * near;
    const deep = -sp * b + cp * near;
    return [c * a - s * deep, height, s * a + c * deep];
  }
  greatCircle(axis) {
    const points = repeat(49, (i) => {
      const angle = i / 48 * 2 * Math.PI;
      const row = [Math.cos(angle), Math.sin(angle)];
      row.splice(axis, 0, 0);
      const { x, y } = this.project(row);
      return `${x.toFixed(3)} ${y.toFixed(3)}`;
    });
    return `M${points.join("L")}`;
  }
  /** Free points may run far: the page shows all of them, and grows or shrinks in steps that an eye can follow. */
  fit(spots) {
    const far = Math.max(1.12, ...spots.map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y))));
    const zoom = this.model.free ? far : Math.min(far, 1.12);
    const lost = !this.zoom || zoom > this.zoom || zoom < 0.6 * this.zoom;
    if (lost || !this.model.free) this.zoom = zoom * (this.model.free ? 1.1 : 1);
    const half = 1.12 * this.zoom + 0.05;
    this.svg.setAttribute("viewBox", `${-half} ${-half} ${2 * half} ${2 * half}`);
    this.svg.style.setProperty("--unit", this.zoom);
  }
  here(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [x, y];
  }
  take(event) {
    const group = event.target.closest?.(".item");
    if (group) {
      const item = Number(group.dataset.item);
      this.handlers.onQuery(item);
      group.focus({ preventScroll: true });
      if (this.model.state.mode === "points") this.held = { item };
    } else if (this.model.state.d === 3) {
      this.held = { from: [event.clientX, event.clientY], turn: { ...this.turn } };
    }
    if (this.held) this.svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  }
  pull(event) {
    if (!this.held) return;
    if (this.held.from) {
      const [x, y] = this.held.from;
      this.turn.yaw = this.held.turn.yaw + (event.clientX - x) / 150;
      this.turn.pitch = Math.max(-1.5, Math.min(1.5, this.held.turn.pitch + (event.clientY - y) / 150));
      return this.handlers.onTurn();
    }
    this.handlers.onPlace(this.held.item, this.unproject(...this.here(event), this.row(this.held.item)));
  }
  row(i) {
    const { d } = this.model.state;
    return [...this.model.places.subarray(i * d, (i + 1) * d)];
  }
  /** Arrow keys move the item that has the focus; Page Up and Down, Home and End go from item to item. */
  nudge(event) {
    const group = event.target.closest?.(".item");
    if (!group) return;
    const item = Number(group.dataset.item);
    const next = { PageUp: item - 1, PageDown: item + 1, Home: 0, End: this.model.n - 1 }[event.key];
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (next !== void 0) this.focus((next + this.model.n) % this.model.n);
    else if (["Enter", " "].includes(event.key)) this.handlers.onQuery(item);
    else if (way && this.model.state.mode === "points") this.moveBy(item, way, event.shiftKey ? NUDGE / 5 : NUDGE);
    else return;
    event.preventDefault();
  }
  moveBy(item, [right, down], far) {
    const row = this.row(item);
    if (row.length === 2 && !this.model.free) {
      const angle = Math.atan2(row[1], row[0]) - (right || down) * far;
      return this.handlers.onPlace(item, [Math.cos(angle), Math.sin(angle)]);
    }
    const { x, y } = this.project(row);
    this.handlers.onPlace(item, this.unproject(x + right * far * this.zoom, y + down * far * this.zoom, row));
  }
  focus(i) {
    this.items.forEach((group, at) => group.setAttribute("tabindex", at === i ? 0 : -1));
    this.items[i].focus();
  }
};
function add(parent, name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}
var repeat = (count, make) => Array.from({ length: count }, (_, i) => make(i));
var move = (group, { x, y }) => group.setAttribute("transform", `translate(${x.toFixed(4)} ${y.toFixed(4)})`);
var length = (rows, i, d) => Math.hypot(...rows.subarray(i * d, (i + 1) * d));
function polygon(corners, radius) {
  const half = (way) => `a${radius} ${radius} 0 1 0 ${way * 2 * radius} 0`;
  if (!corners) return `M${-radius} 0${half(1)}${half(-1)}`;
  const wide = radius * 1.12;
  const points = repeat(corners, (i) => {
    const angle = i / corners * 2 * Math.PI - Math.PI / 2;
    return `${(wide * Math.cos(angle)).toFixed(4)} ${(wide * Math.sin(angle)).toFixed(4)}`;
  });
  return `M${points.join("L")}Z`;
}
function arrowPath(from, to, head) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const barb = (turn) => `${to.x - head * Math.cos(angle + turn)} ${to.y - head * Math.sin(angle + turn)}`;
  return `M${from.x} ${from.y}L${to.x} ${to.y}M${barb(0.5)}L${to.x} ${to.y}L${barb(-0.5)}`;
}
function principalPlane(rows, n, d) {
  const axes = [];
  for (let a = 0; a < 2; a++) {
    let axis = repeat(d, (t) => t === a ? 1 : 0.1);
    for (let i = 0; i < 60; i++) {
      const next = repeat(d, () => 0);
      for (let q = 0; q < n; q++) {
        const along = axis.reduce((sum, part, t) => sum + part * rows[q * d + t], 0);
        next.forEach((_, t) => next[t] += along * rows[q * d + t]);
      }
      for (const other of axes) {
        const along = next.reduce((sum, part, t) => sum + part * other[t], 0);
        next.forEach((_, t) => next[t] -= along * other[t]);
      }
      const size = Math.hypot(...next) || 1;
      axis = next.map((part) => part / size);
    }
    axes.push(axis);
  }
  return axes;
}

// playground/playground.js
var byId = (id) => document.getElementById(id);
var data = JSON.parse(byId("data").textContent);
for (const set of Object.values(data.sets)) if (set.pixels) set.pixels = set.pixels.map(pixelsOf);
var EVERY = 4;
var Page = class {
  constructor() {
    this.stage = new Stage(byId("stage"), {
      onQuery: (item) => this.ask(item),
      onPlace: (item, row) => this.place(item, row),
      onTurn: () => this.draw()
    });
    this.list = new RankedList(byId("list"), (item) => this.ask(item));
    this.plot = new StepPlot(byId("plot"), byId("plot-words"));
    this.course = new Course(byId("course"));
    legendOf(byId("legend"));
    this.controls = new Controls(byId("form"), data, {
      onLoss: (loss) => this.change({ loss, knobs: {}, rate: rateOf(this.state.mode, loss) }, true),
      onKnob: (name, value) => this.change({ knobs: { ...this.state.knobs, [name]: value } }),
      onRate: (rate) => this.change({ rate }),
      onBatches: (batches) => this.change({ batches }),
      onSet: (set) => this.begin({ ...this.kept(), set, mode: data.sets[set].pixels ? this.state.mode : "points" }),
      onMode: (mode) => this.begin({ ...this.kept(), set: mode === "encoder" ? "kinds" : this.state.set, mode }),
      onSpace: (d) => this.begin({ ...this.kept(), d })
    });
    const choices = SCENARIOS.map(({ name, title }) => new Option(title, name));
    byId("scenario").append(...choices);
    byId("scenario").addEventListener("change", (event) => this.open(event.target.value));
    for (const [id, press] of Object.entries({
      play: () => this.playing ? this.pause() : this.play(),
      step: () => this.once(),
      rewind: () => this.rewind(0),
      again: () => this.begin({ ...this.kept(), seed: (this.state.seed + 1) % 1e6 }),
      copy: () => this.copy()
    }))
      byId(id).addEventListener("click", press);
    byId("back").addEventListener("input", (event) => this.rewind(Number(event.target.value)));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.fromAddress());
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
  get state() {
    return this.model.state;
  }
  /** What another set, space or seed keeps of the state. */
  kept() {
    const { set, mode, d, loss, knobs, batches, seed } = this.state;
    return { set, mode, d, loss, knobs, batches, seed };
  }
  fromAddress() {
    const text = location.hash.slice(1);
    if (text === this.written) return;
    try {
      const state = decode(text, (name) => data.sets[name]);
      if (state) this.show(state);
      else if (data.start) this.show(fresh(data.sets[data.start.set], data.start));
      else this.open("start");
      this.say("");
    } catch (error) {
      if (!this.model) this.open("start");
      this.say(error.message);
    }
  }
  open(name) {
    const chosen = scenario(name);
    if (!chosen) return;
    this.show(fresh(data.sets[chosen.state.set], structuredClone(chosen.state)));
    byId("scenario").value = name;
    byId("words").textContent = chosen.words;
  }
  begin({ d, ...changes }) {
    const set = data.sets[changes.set];
    this.show(fresh(set, set.rows ? changes : { ...changes, d: Math.min(d, 8) }));
  }
  show(state) {
    this.pause();
    byId("scenario").value = "";
    byId("words").textContent = "";
    this.model = new Model(state, data.sets[state.set]);
    this.course.clear();
    this.stage.build(this.model);
    this.stage.face();
    this.refresh();
  }
  /** Other settings of the training that goes on. */
  change(settings, rebuild = false) {
    this.model.change(settings);
    if (rebuild) this.stage.build(this.model);
    this.refresh();
  }
  ask(item) {
    if (this.state.query === item) return;
    this.state.query = item;
    this.refresh();
  }
  place(item, row) {
    this.model.place(item, row);
    this.refresh();
  }
  play() {
    this.playing = true;
    this.buttons();
    let frame = 0;
    const tick2 = () => {
      if (!this.playing) return;
      this.advance(++frame % EVERY === 0);
      this.request = requestAnimationFrame(tick2);
    };
    this.request = requestAnimationFrame(tick2);
  }
  pause() {
    const played = this.playing;
    this.playing = false;
    cancelAnimationFrame(this.request);
    this.buttons();
    if (played) this.refresh();
  }
  once() {
    this.pause();
    this.advance(true);
    this.refresh();
  }
  /** One step, and what it changed. */
  advance(whole) {
    const begun = performance.now();
    this.model.descend(this.measured);
    this.draw(whole);
    this.frames = [...(this.frames ?? []).slice(-299), performance.now() - begun];
  }
  rewind(step) {
    this.pause();
    this.model.rewind(step);
    this.refresh();
  }
  refresh() {
    this.controls.show(this.state, this.model.set);
    this.buttons();
    this.draw(true);
    this.write();
    this.tell();
  }
  draw(whole = false) {
    if (!this.model) return;
    const { model } = this;
    this.measured = model.measure();
    const scores = model.scores();
    const list = model.list(this.state.query, scores);
    this.stage.draw(this.measured, list);
    this.list.draw(model, this.measured, list);
    if (!whole) return;
    this.metrics = model.metrics(scores);
    this.course.add(model.step, this.measured.value, this.metrics);
    this.course.draw();
    this.plot.draw(model, list);
    this.numbers();
    this.buttons();
    if (model.step % 64 === 0) this.write();
  }
  numbers() {
    const { names } = this.model.set;
    const { first, recall, precision, gap } = this.metrics;
    const told = { loss: this.measured.value, first, recall, precision, gap };
    for (const [id, value] of Object.entries(told)) {
      byId(`is-${id}`).textContent = Number.isNaN(value) ? "–" : value.toFixed(3);
    }
    byId("gap-row").hidden = this.state.batches < 2;
    byId("asked").textContent = names[this.state.query];
    byId("soft-head").textContent = this.model.surrogate ? "soft rank" : "";
    byId("score-head").textContent = this.model.free ? "−distance²" : "cosine";
    byId("force").textContent = `Strongest force: ${short(this.stage.strongest)}`;
  }
  buttons() {
    const step = this.model?.step ?? 0;
    byId("play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    byId("at").textContent = step;
    byId("rewind").disabled = !this.model?.taken.length;
    const back = byId("back");
    back.disabled = !this.model?.taken.length;
    back.min = this.model?.taken[0]?.step ?? 0;
    back.max = step;
    if (document.activeElement !== back || this.playing) back.value = step;
  }
  /** The list in words, for who does not see it. */
  tell() {
    const list = this.model.list(this.state.query).slice(0, 3);
    const { names } = this.model.set;
    const nearest = list.map(({ item, right }) => `${names[item]}, ${right ? "right" : "wrong"}`).join("; ");
    byId("told").textContent = `Step ${this.model.step}. Loss ${this.measured.value.toFixed(3)}. Nearest to
      ${names[this.state.query]}: ${nearest}. Average precision ${this.metrics.precision.toFixed(3)}.`;
  }
  write() {
    if (this.playing && this.model.step % 64) return;
    this.written = encode(this.state);
    try {
      history.replaceState(null, "", `#${this.written}`);
    } catch {
    }
  }
  async copy() {
    this.write();
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link is copied. It holds everything that you see.");
    } catch {
      this.say("The browser did not allow copying. The address of this page is the link.");
    }
  }
  say(words) {
    byId("message").textContent = words;
  }
  key(event) {
    const typing = event.target.matches?.("input, select, textarea, button");
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const press = { p: "play", s: "step", r: "rewind" }[event.key];
    if (press && !byId(press).disabled) byId(press).click();
  }
};
function pixelsOf(text) {
  return Float64Array.from(atob(text), (letter) => letter.charCodeAt(0) / 127.5 - 1);
}
var page = new Page();
page.fromAddress();
var surrogates = { constantGradient, hMinus, heaviside, linearTail, sigmoid, softBins };
globalThis.playground = { page, lossOf, LOSSES, couples, decomposabilityGap, surrogates, bound8, bound9, softRanks };
