// What is being looked at, as plain values, and how it stands in the address: everything behind the # can be mailed.

import { LOSSES, couples } from "./losses.js";
import { normal, random } from "./random.js";

/** Rates that suit a loss: how far a step of plain descent goes per unit of slope. */
const RATES = {
  contrastive: 0.05,
  triplet_margin: 0.1,
  normalized_softmax: 0.1,
  recall_at_k: 0.3,
  smooth_ap: 0.1,
  sup_ap: 0.03,
  calibration: 0.05,
  roadmap: 0.02,
  contextual: 0.02,
  class_anchor_margin: 0.1,
};
export const ENCODER_RATE = 0.003;

/** The smallest and the largest number of each whole number that an address may set. */
const BOUNDS = { d: [2, 4096], query: [0, 63], batches: [1, 3], seed: [0, 999999], step: [0, 1e9] };

/** A state to begin with: places that were handed over with the set, or else drawn from the seed. */
export function fresh(set, changes = {}) {
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
    ...changes,
  };
  state.rate ??= rateOf(state.mode, state.loss);
  state.rows ??= set.rows ? Float32Array.from(set.rows) : scattered(n, state.d, state.seed);
  state.weights ??= classWeights(state.loss, set.labels, state.d, state.seed);
  return state;
}

export function rateOf(mode, loss) {
  return mode === "encoder" ? ENCODER_RATE : RATES[loss];
}

/** Unit rows in random directions, [n d], as float32 numbers. */
function scattered(n, d, seed) {
  const draw = random(seed);
  const rows = [];
  for (let i = 0; i < n; i++) {
    const row = Array.from({ length: d }, () => normal(draw));
    const length = Math.hypot(...row);
    rows.push(...row.map((part) => part / length));
  }
  return Float32Array.from(rows);
}

/** Weight vectors or anchors, a class each, [classes d]; none for a loss that compares images with each other. */
export function classWeights(loss, labels, d, seed) {
  if (!["normalized_softmax", "class_anchor_margin"].includes(loss)) return null;
  return scattered(new Set(labels).size, d, seed + 1);
}

/** Weights of SiMix's virtual examples at a step: drawn from the seed and the step alone, so that a replay is equal. */
export function mixingOf(labels, seed, step) {
  const draw = random(seed * 7919 + step);
  return couples(labels).map(() => draw());
}

/** The part of an address behind the #. */
export function encode(state) {
  const words = {
    mode: state.mode,
    set: state.set,
    d: state.d,
    loss: state.loss,
    rate: state.rate,
    query: state.query,
    batches: state.batches,
    seed: state.seed,
    step: state.step,
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

/**
 * The state of an address; null where it says nothing.
 * @param {(name: string) => object} setOf the set of images of a name
 * @throws {Error} one sentence, where the address does not fit
 */
export function decode(text, setOf) {
  if (!text) return null;
  const words = Object.fromEntries(new URLSearchParams(text));
  const set = setOf(words.set ?? "dozen");
  if (!set) throw new Error(`This link asks for the images '${words.set}', which this page does not have.`);
  const changes = { set: set.name };
  if (words.mode) changes.mode = oneOf(words.mode, ["points", "encoder"], "mode");
  if (words.loss) changes.loss = oneOf(words.loss, Object.keys(LOSSES), "loss");
  for (const [name, [low, high]] of Object.entries(BOUNDS)) {
    if (words[name] !== undefined) changes[name] = number(words[name], name, low, high, true);
  }
  if (words.rate !== undefined) changes.rate = number(words.rate, "rate", 1e-6, 10, false);
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
    }),
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
  if (!(value >= low && value <= high) || (whole && !Number.isInteger(value))) {
    throw new Error(`This link sets ${name} to '${text}'; it has to lie between ${low} and ${high}.`);
  }
  return value;
}

/** Float32 numbers as letters that an address may hold. */
function packed(numbers) {
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
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
