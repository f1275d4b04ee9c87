// Losses of a batch: value, one value a query, and the gradient of the rows. The formulas are those of lab/losses, whose
// names and knobs they bear. Nothing here knows of the page. Labels are whole numbers, a row each.

import { mean, similarities, throughSimilarities, throughUnit, unit } from "./ranking.js";
import { hMinus, heaviside, sigma, sigmaSlope, sigmoid } from "./surrogates.js";

/**
 * @typedef {{rows: Float64Array, n: number, d: number, labels: number[]}} Batch
 * @typedef {{value: number, perQuery: number[], gradient: Float64Array, pairs?: Float64Array, weights?: Float64Array}}
 *   Result
 *   value: the loss; perQuery: NaN for a query that has none; gradient: n * d, of the rows as they were given; pairs:
 *   n * n, what query q feels of item i at q * n + i, as the slope of the loss at their cosine, negative where it pulls;
 *   weights: the gradient of class weights or anchors, where the loss has some.
 */

/** Settings of SupAP, which ROADMAP has, too. */
const STEP_OF_SUP_AP = {
  tau: 0.01,
  rho: 100,
  delta: 0.05,
  offset: null,
  start: 0.5,
  lift_ties: false,
  variant: "paper",
  include_self: null,
};

export const LOSSES = {
  contrastive: { title: "Contrastive", measure: ofDistances(contrastive), knobs: { pos_margin: 0, neg_margin: 1 } },
  triplet_margin: { title: "Triplet", measure: ofDistances(tripletMargin), knobs: { margin: 0.05 } },
  normalized_softmax: { title: "Normalised softmax", measure: normalizedSoftmax, knobs: { temperature: 0.05 } },
  recall_at_k: {
    title: "Recall@k surrogate",
    measure: recallAtK,
    knobs: { k: null, tau1: 1, tau2: 0.01, simix: false, variant: "paper", include_self: null },
    step: ({ tau2, variant }) => sigmoid(tau2, variant === "released" ? 50 : Infinity),
  },
  smooth_ap: {
    title: "SmoothAP",
    measure: ofCosines(smoothAP),
    knobs: { tau: 0.01, variant: "paper", include_self: null },
    step: ({ tau, variant }) => sigmoid(tau, variant === "released" ? 50 : Infinity),
  },
  sup_ap: {
    title: "SupAP",
    measure: ofCosines(supAP),
    knobs: STEP_OF_SUP_AP,
    step: (knobs) => stepOfSupAP(knobs),
  },
  calibration: {
    title: "Calibration",
    measure: ofCosines(calibration),
    knobs: { alpha: 0.9, beta: 0.6, variant: "paper", include_self: null },
  },
  roadmap: {
    title: "ROADMAP",
    measure: ofCosines(roadmap),
    knobs: {
      lam: 0.5,
      alpha: 0.9,
      beta: 0.6,
      ...STEP_OF_SUP_AP,
    },
    step: (knobs) => stepOfSupAP(knobs),
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
      variant: "paper",
    },
  },
  class_anchor_margin: {
    title: "Class anchors",
    measure: classAnchorMargin,
    knobs: { m: 2, p: 1, attractor: true, repeller: true, min_norm: true, ordered: true },
  },
};

/**
 * The loss of a batch.
 * @param {string} name of LOSSES
 * @param {Batch} batch
 * @param {object} knobs those that differ from the defaults
 * @param {{weights?: Float64Array, mixing?: number[]}} given class weights or anchors, classes * d; for SiMix a weight a
 *   couple of positives in the order of `couples`
 * @returns {Result}
 */
export function lossOf(name, batch, knobs = {}, given = {}) {
  const loss = LOSSES[name];
  if (!loss) throw new Error(`There is no loss '${name}'. Known: ${Object.keys(LOSSES).join(", ")}.`);
  return loss.measure(batch, { ...loss.knobs, ...knobs }, given);
}

/** A loss of cosines as one of rows: scale them to length 1, and lead the gradient back. */
function ofCosines(loss) {
  return ({ rows, n, d, labels }, knobs) => {
    const { units, lengths } = unit(rows, n, d);
    const { value, perQuery, slopes } = loss(similarities(units, n, d), n, labels, knobs);
    const gradient = throughUnit(throughSimilarities(slopes, units, n, d), units, lengths, n, d);
    return { value, perQuery, gradient, pairs: slopes };
  };
}

/** The same for a loss of the distances of unit rows, whose slope at a distance of zero is none. */
function ofDistances(loss) {
  return ({ rows, n, d, labels }, knobs) => {
    const { units, lengths } = unit(rows, n, d);
    const distances = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let t = 0; t < d; t++) sum += (units[i * d + t] - units[j * d + t]) ** 2;
        distances[i * n + j] = Math.sqrt(sum);
      }
    }
    const { value, perQuery, slopes } = loss(distances, n, labels, knobs);
    const pairs = slopes.map((slope, i) => (distances[i] ? -slope / distances[i] : 0)); // a cosine is 1 - distance^2 / 2
    const gradient = throughUnit(throughSimilarities(pairs, units, n, d), units, lengths, n, d);
    return { value, perQuery, gradient, pairs };
  };
}

/** The items of each query's class, the query itself only on request. */
function positivesOf(labels, withSelf) {
  return labels.map((label, q) => [...labels.keys()].filter((i) => labels[i] === label && (withSelf || i !== q)));
}

/** Mean over the queries that have a value; where no two items share a class, a ranking loss is zero. */
function meanOfQueries(perQuery, slopes, labels) {
  const count = perQuery.filter((value) => !Number.isNaN(value)).length;
  const taught = new Set(labels).size < labels.length;
  const scale = taught && count ? 1 / count : 0;
  return { value: taught ? mean(perQuery) : 0, perQuery, slopes: slopes.map((slope) => slope * scale) };
}

/**
 * Sums of steps over the gaps between a positive and other items of one query.
 * @returns a function that adds the slopes of the sum, times a weight, to those of the similarities
 */
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

const KS = [1, 2, 4, 8, 16];
const SIMIX_KS = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32];
const FARTHEST = Math.log(2.2250738585072014e-308 / Number.EPSILON ** 2);

/** RS@k, eq. 5-7, with SiMix (eq. 8-10) on request. */
function recallAtK({ rows, n, d, labels }, knobs, { mixing }) {
  const { units, lengths } = unit(rows, n, d);
  const virtual = knobs.simix ? couples(labels) : [];
  const mixed = mixtures(units, n, d, virtual, mixing);
  const all = n + virtual.length;
  const allLabels = [...labels, ...virtual.map(([i]) => labels[i])];
  const released = knobs.variant === "released";
  const ks = (knobs.k ?? (knobs.simix ? SIMIX_KS : KS)).map((k) => (released ? Math.min(k, n) : k));
  const result = recallOfCosines(similarities(mixed, all, d), all, allLabels, { ...knobs, ks });
  const wide = throughSimilarities(result.slopes, mixed, all, d);
  virtual.forEach(([i, j], v) => {
    for (let t = 0; t < d; t++) {
      wide[i * d + t] += mixing[v] * wide[(n + v) * d + t];
      wide[j * d + t] += (1 - mixing[v]) * wide[(n + v) * d + t];
    }
  });
  const pairs = result.slopes.filter((_, i) => i % all < n && i < all * n);
  return { ...result, pairs, gradient: throughUnit(wide.subarray(0, n * d), units, lengths, n, d) };
}

/** Pairs [i, j], i < j, of one class in row order: each makes a virtual example. */
export function couples(labels) {
  const found = [];
  for (let i = 0; i < labels.length; i++) {
    for (let j = i + 1; j < labels.length; j++) if (labels[i] === labels[j]) found.push([i, j]);
  }
  return found;
}

/** The rows, and behind them mixing * x_i + (1 - mixing) * x_j for each couple; not scaled to length 1 again. */
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
      const felt = found < k ? 1 : found === k ? 0.5 : 0; // the list is full: one more hit counts for nothing
      logits.forEach((u, p) => {
        weights[p] += (felt * sigmaSlope(u)) / (tau1 * most * ks.length);
      });
    }
    ranks.forEach(({ push }, p) => push(slopes, weights[p]));
    return 1 - share / ks.length;
  });
  return meanOfQueries(perQuery, slopes, labels);
}

/** SmoothAP, eq. 5 and 6 of Brown et al. 2020. */
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

/** SupAP (ROADMAP, eq. 4 and 5): a hard step among positives, H- for negatives. */
function supAP(scores, n, labels, knobs) {
  return precisionLoss(scores, n, labels, knobs.include_self ?? true, heaviside(), stepOfSupAP(knobs));
}

/** 1 - mean over positives of rank+ / rank, rank+ by one step and the negatives' part of the rank by another. */
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

/** Calibration (ROADMAP, eq. 7); as released, averaged over the pairs of the batch that violate their threshold. */
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

/** Contrastive loss on cosines, averaged over the violating pairs of the batch (Contextual, eq. 29). */
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
    [near, 1],
  ]) {
    for (const [q, i, excess] of violations) {
      shares[q] += excess / violations.length;
      slopes[q * n + i] += sign / violations.length;
    }
  }
  const value = shares.reduce((sum, share) => sum + share, 0);
  const perQuery = shares.map((share, q) => (positives[q].length ? n * share : NaN));
  return { value, perQuery, slopes };
}

/** ROADMAP (eq. 2): (1 - lam) SupAP + lam calibration; as released, their sum. */
function roadmap(scores, n, labels, knobs) {
  const ranking = supAP(scores, n, labels, knobs);
  const level = calibration(scores, n, labels, { ...knobs, include_self: null });
  const weights = knobs.variant === "released" ? [1, 1] : [1 - knobs.lam, knobs.lam];
  const [first, second] = new Set(labels).size < n ? weights : [0, 0]; // no positive at all: nothing to rank
  const mix = (a, b) => first * a + second * b;
  return {
    value: mix(ranking.value, level.value),
    perQuery: ranking.perQuery.map((value, q) => mix(value, level.perQuery[q])),
    slopes: ranking.slopes.map((slope, i) => mix(slope, level.slopes[i])),
  };
}

/** Mean of [d - pos_margin]+ over violating positive pairs, plus mean of [neg_margin - d]+ over such negative ones. */
function contrastive(distances, n, labels, { pos_margin, neg_margin }) {
  const scores = distances.map((distance) => -distance);
  const result = activePairs(scores, n, labels, positivesOf(labels, false), -pos_margin, -neg_margin);
  return { ...result, slopes: result.slopes.map((slope) => -slope) };
}

/** Mean of [d(a, p) - d(a, n) + margin]+ over the triplets where it is not zero. */
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
    perQuery: shares.map((share, q) => (positives[q].length ? n * share * scale : NaN)),
    slopes: slopes.map((slope) => slope * scale),
  };
}

/** Cross-entropy of cosine / temperature with a weight vector a class, [classes d] (Zhai and Wu, 2019). */
function normalizedSoftmax({ rows, n, d, labels }, { temperature }, { weights }) {
  const classes = weights.length / d;
  const { units, lengths } = unit(rows, n, d);
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
    gradient: throughUnit(rowGradient, units, lengths, n, d),
    weights: throughUnit(centreGradient, centres.units, centres.lengths, classes, d),
  };
}

/** CAM (eq. 1-4): rows are pulled to the anchor of their class, anchors pushed apart. Nothing has length 1. */
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
      for (let t = c * d; t < (c + 1) * d; t++) anchorGradient[t] -= (lack * weights[t]) / lengthOf(c);
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
        const push = (2 * weight * overlap * part) / distance;
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

/** Contextual loss (eq. 1-7): similarity of neighbourhoods, pairs over their thresholds, and the mean similarity. */
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
    released_224: [1 - lam, lam],
  }[variant];
  const shared = labels.map((_, q) => first * context.shares[q] + gamma * level);
  const pairShare = (q) => (positives[q].length ? second * pairs.perQuery[q] : NaN);
  const ofLevel = (gamma * -2 * (knobs.s_tilde - average)) / (n * n);
  return {
    value: first * mean(context.shares) + second * pairs.value + gamma * level,
    perQuery: shared.map((share, q) => share + pairShare(q)),
    slopes: context.slopes.map((slope, i) => first * slope + second * pairs.slopes[i] + ofLevel),
  };
}

/** L_context (eq. 5), as shares whose mean it is; theta is a step forward and has the slope alpha backward. */
function contextOf(scores, n, labels, k, { eps, alpha }) {
  const distances = scores.map((score) => Math.max(0, 2 - 2 * score));
  const near = neighbours(distances, n, k, eps);
  const close = neighbours(distances, n, Math.max(1, Math.floor(k / 2)), eps);
  const inside = rowSums(near, n);
  const outside = inside.map((size) => n - size);
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
  const errors = new Float64Array(n * n); // the gradient of L_context with respect to w
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) continue;
      const w = (averaged[i * n + j] + averaged[j * n + i]) / 2;
      const off = w - (labels[i] === labels[j] ? 1 : 0);
      shares[i] += (off * off) / n;
      errors[i * n + j] = (2 * off) / (n * n);
    }
  }
  const ofAveraged = errors.map((one, i) => (one + errors[mirror(i, n)]) / 2);
  const ofProduct = divided(ofAveraged, size, n); // of mutual @ alike
  const ofMutual = timesTransposed(ofProduct, alike, n);
  const ofSize = rowSums(
    ofAveraged.map((one, i) => one * averaged[i]),
    n,
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
    n,
  ); // outside is 1 - near
  const alone = rowSums(ofNeither, n);
  ofShared.forEach((one, i) => (ofNear[i] += one - alone[Math.floor(i / n)]));
  const ofClose = ofMutual.map((one, i) => one * close[mirror(i, n)] + ofMutual[mirror(i, n)] * close[mirror(i, n)]);
  // d distance = -2 d score where it is not cut off at 0, and theta falls by alpha with the distance
  const slopes = ofNear.map((one, i) => (2 - 2 * scores[i] >= 0 ? 2 * alpha * (one + ofClose[i]) : 0));
  return { shares, slopes };
}

/** 1 for each item at most eps farther than the k-th nearest, the row itself counted, and else 0 (eq. 2). */
function neighbours(distances, n, k, eps) {
  const near = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = distances.subarray(i * n, (i + 1) * n);
    const kth = row.toSorted()[Math.min(k, n) - 1];
    row.forEach((distance, j) => (near[i * n + j] = kth - distance + eps >= 0 ? 1 : 0));
  }
  return near;
}

const mirror = (i, n) => (i % n) * n + Math.floor(i / n);
const transposed = (matrix, n) => matrix.map((_, i) => matrix[mirror(i, n)]);
const timesTransposed = (a, b, n) => transposed(times(b, transposed(a, n), n), n);

/** a @ b of two n * n matrices; zeros of the first are passed over, for neighbourhoods are small. */
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

/** Rows over their sizes; zero where there is no size. */
function divided(matrix, sizes, n) {
  return matrix.map((one, i) => (sizes[Math.floor(i / n)] ? one / sizes[Math.floor(i / n)] : one));
}

/** As Python rounds. */
function roundHalfToEven(number) {
  const down = Math.floor(number);
  return number - down === 0.5 ? down + (down % 2) : Math.round(number);
}
