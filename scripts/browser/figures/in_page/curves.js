// Figures of the step and what stands in for it.

import { constantGradient, heaviside, hMinus, linearTail } from "../../playground/surrogates.js";
import { sigma, sigmoid, softBins } from "../../playground/surrogates.js";
import { BLUE, RIGHT, VERMILLION, WRONG, badge, changed, fixed, general, range, signed } from "./words.js";

/** The next larger number. */
function after(number) {
  const place = new Float64Array([number]);
  new BigInt64Array(place.buffer)[0] += 1n;
  return place[0];
}

/** `count` even places from -reach to reach and some more, in order. */
function places(reach, count, more) {
  const step = (2 * reach) / (count - 1);
  const even = range(count).map((i) => (i === count - 1 ? reach : i * step - reach));
  return [...new Set([...even, ...more.filter((x) => Math.abs(x) <= reach)])].sort((a, b) => a - b);
}

/** Whether H- is at least the step: for every gap, for every gap but a tie, or not even then. */
function boundOfHMinus({ tau, delta, offset, start = 0.5, lift_ties }) {
  const afterDelta = offset ?? start + sigma(delta / tau), lifted = start >= 0.5;
  if (afterDelta < 1 || !(lifted || delta === 0)) return "fails";
  return lifted && lift_ties ? "holds" : "fails at ties";
}

export function twoSigmoids({ tau1, tau2 }, start) {
  const traces = [], notes = start.layout.annotations.slice(0, 2), areas = [];
  [[tau1, 10], [tau2, 0.1]].forEach(([tau, reach], column) => {
    const x = places(reach, 601, [-1e-12, 0]);
    const value = x.map(sigmoid(tau).value), step = x.map(heaviside().value);
    const off = value.map((one, i) => Math.abs(one - step[i]));
    areas.push(general(x.slice(1).reduce((sum, one, i) => sum + ((one - x[i]) * (off[i + 1] + off[i])) / 2, 0), 3));
    traces.push({ x, y: step }, { x, y: value });
    notes.push({ ...start.layout.annotations[2 + column], text: `area between them<br><b>${areas[column]}</b>` });
  });
  const alt =
    `Left, a sigmoid of temperature ${general(tau1)} over ranks, ${areas[0]} away from the step in area; right, one ` +
    `of temperature ${general(tau2)} over similarity gaps, ${areas[1]} away.`;
  return changed(start, { alt, traces, layout: { annotations: notes } });
}

const OFFSETS = { paper: [null, 0.5], released: [1.44, 0.5], "released, iNaturalist": [1, 0] };

export function hMinusVersions({ tau, rho, delta, offset: version, lift_ties, compare, reach }, start) {
  const [offset, lift] = OFFSETS[version], knobs = { tau, rho, delta, offset, start: lift, lift_ties };
  const beyond = after(delta), x = places(reach, 801, [-1e-9, 0, 1e-9, delta, beyond]);
  const curve = hMinus(knobs), curves = [curve, heaviside(), sigmoid(tau)].slice(0, compare ? 3 : 1);
  const [before, behind] = [curve.slope(delta), curve.slope(beyond)].map((slope) => general(slope, 3));
  const jump = signed(curve.value(beyond) - curve.value(delta), 3), bound = boundOfHMinus(knobs);
  const { annotations, shapes } = start.layout, shown = delta <= reach;
  const notes = shown ? annotations.slice(2).map((one) => ({ ...one, x: delta })) : [];
  return changed(start, {
    subtitle:
      `at δ the slope goes from <b>${before}</b> to <b>${behind}</b>, the value jumps by <b>${jump}</b> · ` +
      badge(bound === "holds", `bound ${bound}`),
    alt:
      `H minus (${version}) against the gap. Its slope is ${before} just before delta and ${behind} after it, the ` +
      `value jumps by ${jump}; as an upper bound of the step it ${bound}.`,
    traces: curves.flatMap(({ value, slope }) => [{ x, y: x.map(value) }, { x, y: x.map(slope) }]),
    layout: {
      annotations: [...annotations.slice(0, 2), ...notes],
      shapes: shown ? shapes.map((one) => ({ ...one, x0: delta, x1: delta })) : undefined,
    },
  });
}

function alive([low, high]) {
  if (low === high) return "nowhere";
  if (high === Infinity) return low === -Infinity ? "everywhere" : `from ${general(low, 3)} up`;
  return `${general(low, 3)} to ${general(high, 3)}`;
}

export function allSurrogates({ tau, rho, delta, released, alpha, bins, phase, reach }, start) {
  const ofHMinus = { tau, rho, delta, offset: released ? 1.44 : null };
  const curves = [
    ["step H", heaviside(), "holds"],
    ["sigmoid", sigmoid(tau), "fails"],
    [released ? "H⁻ (released)" : "H⁻", hMinus(ofHMinus), boundOfHMinus(ofHMinus)],
    ["constant gradient θ", constantGradient(2 * alpha), "holds"], // of D = 2 - 2s
    ["soft bin", softBins({ bins, phase }), phase === 0 ? "holds" : "fails"],
    ["linear tail", linearTail(tau), "holds"],
  ];
  const x = places(reach, 801, [0, -1e-9, 1e-9, delta, after(delta)]);
  const slopes = curves.map(([, { slope }]) => x.map(slope));
  const steepest = Math.max(...slopes.flat());
  const names = curves.map(([name]) => name), bounds = curves.map(([, , bound]) => bound);
  const ranges = curves.map(([, { reach: ends }]) => alive(ends));
  const colours = bounds.map((bound) => (bound === "holds" ? BLUE : VERMILLION));
  const marked = bounds.map((bound) => `${bound === "holds" ? RIGHT : WRONG} ${bound}`);
  const atTie = (kind) => curves.map(([, curve]) => general(curve[kind](0), 3));
  const parts = names.map((name, i) => `${name}: bound ${bounds[i]}, gradient alive for gaps ${ranges[i]}`);
  return changed(start, {
    alt: `Value and derivative of ${parts.length} surrogates for the step, by similarity gap. ${parts.join("; ")}.`,
    traces: [
      ...curves.flatMap(([name, { value }], i) => {
        return [x.map(value), slopes[i]].map((y) => ({ x, y, name, legendgroup: name }));
      }),
      {
        "cells.values": [names, marked, ranges, atTie("value"), atTie("slope")],
        "cells.font.color": ["#222", colours, "#222", "#222", "#222"],
      },
    ],
    layout: { "yaxis2.range": [-0.04 * steepest, 1.06 * steepest] },
  });
}

export function rankPlus({ rank_plus: plus, rank_minus: minus }, start) {
  const total = plus + minus, precision = fixed(plus / total, 3);
  const byPlus = signed(minus / total ** 2, 4), byMinus = signed(-plus / total ** 2, 4);
  const annotations = minus ? start.layout.annotations.map((one, i) => {
    const place = { x: i < 2 ? Math.min(30, plus + 6) : plus, y: i < 2 ? minus : Math.max(0, minus - 6) };
    return { ...one, ...place, ...(one.showarrow ? { ax: plus, ay: minus } : {}) };
  }) : undefined;
  return changed(start, {
    subtitle:
      `precision ${precision} · ∂/∂rank⁺ = <b>${byPlus}</b> (never negative: ascent sends the positive down) · ` +
      `∂/∂rank⁻ = <b>${byMinus}</b>`,
    alt:
      `Precision of a positive over rank plus and rank minus. At rank plus ${plus} with ${minus} negatives ahead it ` +
      `is ${precision}; its derivative by rank plus is ${byPlus}, never negative, and by rank minus ${byMinus}.`,
    traces: [{}, { x: [plus], y: [minus] }],
    layout: { annotations },
  });
}
