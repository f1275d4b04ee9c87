// One training in the page: rows, loss and gradient of a state, steps forward, and every step that was taken.

import { Encoder, Points } from "./encoder.js";
import { LOSSES, lossOf } from "./losses.js";
import { decomposabilityGap, mean, rankedList, scoresOf, similarities, softRanks, unit } from "./ranking.js";
import { classWeights, mixingOf } from "./state.js";

/** Steps that can be gone back to. */
const KEPT = 1000;

export class Model {
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
        members.forEach((j, other) => (pairs[i * this.n + j] = result.pairs?.[at * members.length + other] ?? 0));
      });
      weightGradient?.forEach((_, i) => (weightGradient[i] += result.weights[i] / batches));
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
      place: at + 1,
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
    weightGradient?.forEach((slope, i) => (this.weights[i] -= rate * scale * slope));
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
      log: structuredClone(this.state.log),
    });
    if (this.taken.length > KEPT) this.taken.splice(1, 1); // the start stays
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
}
