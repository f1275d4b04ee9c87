// What moves: points on a circle or sphere, or a tiny encoder (8 x 8 x 3 pixels -> one layer -> d numbers). Both give
// rows and take the gradient of rows. Every number is rounded to float32, so that an address holds all of it.

import { normal, random } from "./random.js";

/** The farthest that a point moves in one step, in units of the circle's radius: about three degrees. */
const LEAP = 0.06;

/** Rows that move by themselves. free: they keep no length. */
export class Points {
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
      const length = Math.hypot(...step);
      const scale = length > LEAP && !this.free ? LEAP / length : 1;
      step.forEach((part, t) => (this.weights[i * d + t] += part * scale));
      if (!this.free) this.toUnit(i);
    }
  }

  /** Put a row somewhere; on the circle or sphere it keeps the direction alone. */
  place(i, row) {
    row.forEach((part, t) => (this.weights[i * this.d + t] = part));
    if (!this.free) this.toUnit(i);
  }

  toUnit(i) {
    const row = this.weights.subarray(i * this.d, (i + 1) * this.d);
    const length = Math.hypot(...row);
    if (length > 0) row.forEach((part, t) => (row[t] = part / length));
  }

  /** What a later `restore` needs. */
  snapshot() {
    return [this.weights.slice()];
  }

  restore([weights]) {
    this.weights = weights.slice();
  }
}

/** One linear layer over pixels, [pixels d], trained by Adam (Kingma and Ba, 2015). */
export class Encoder {
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
      this.square[i] = 0.999 * this.square[i] + 0.001 * one * one;
      this.weights[i] -= (rate * (this.mean[i] / first)) / (Math.sqrt(this.square[i] / second) + 1e-8);
    });
  }

  snapshot() {
    return [this.weights.slice(), this.mean.slice(), this.square.slice(), this.steps];
  }

  restore([weights, mean, square, steps]) {
    this.weights = weights.slice();
    this.mean = mean.slice();
    this.square = square.slice();
    this.steps = steps;
  }
}
