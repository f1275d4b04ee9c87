// Built from scripts/browser; edit the sources there.
var rankscopeLive = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // figures/live.js
  var live_exports = {};
  __export(live_exports, {
    computed: () => computed,
    liveFigure: () => liveFigure,
    strip: () => strip_default,
    unpackedText: () => unpackedText
  });

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

  // figures/in_page/words.js
  var BLUE = "#0072B2";
  var VERMILLION = "#D55E00";
  var BLACK = "#000000";
  var RIGHT = "✓";
  var WRONG = "✗";
  var SURE = 30;
  function fixed(number, digits) {
    const sign = number < 0 || Object.is(number, -0) ? "-" : "";
    const size = Math.abs(number), up = size.toFixed(digits), long = size.toFixed(digits + SURE);
    if (long.slice(-SURE) !== "5".padEnd(SURE, "0")) return sign + up;
    const down = digits ? long.slice(0, -SURE) : long.slice(0, -SURE - 1);
    return sign + (Number(down.at(-1)) % 2 ? up : down);
  }
  function signed(number, digits) {
    const text = fixed(number, digits);
    return text.startsWith("-") ? text : `+${text}`;
  }
  function general(number, digits = 6) {
    if (number === 0) return "0";
    const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
    const short = (text) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
    if (exponent >= -4 && exponent < digits) return short(fixed(number, digits - 1 - exponent));
    return `${short(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  function quoted(text) {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    return mark + text.replace(/\\/g, "\\\\").replaceAll(mark, `\\${mark}`) + mark;
  }
  function written(value, isFloat) {
    if (Array.isArray(value)) {
      return `(${value.map((one) => written(one, isFloat)).join(", ")}${value.length === 1 ? "," : ""})`;
    }
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "string") return quoted(value);
    return `${Object.is(value, -0) ? "-0" : value}${isFloat && Number.isInteger(value) ? ".0" : ""}`;
  }
  function badge(holds, text) {
    return `<span style='color:${holds ? BLUE : VERMILLION}'><b>${holds ? RIGHT : WRONG} ${text}</b></span>`;
  }
  function wrapped(text, width = 104) {
    if (text.includes("<br>")) return text.split("<br>").map((line) => wrapped(line, width)).join("<br>");
    const lines = [[]];
    let length = 0;
    for (const [word] of text.matchAll(/(?:<[^>]*>|[^\s<])+/g)) {
      const size = word.replace(/<[^>]*>/g, "").length + 1;
      if (lines.at(-1).length && length + size > width) {
        lines.push([]);
        length = 0;
      }
      lines.at(-1).push(word);
      length += size;
    }
    return lines.map((line) => line.join(" ")).join("<br>");
  }
  var breaks = (text) => text.split("<br>").length - 1;
  function put(whole, changes) {
    const made = { ...whole };
    for (const [path, value] of Object.entries(changes)) {
      const [first, ...rest] = path.split(".");
      made[first] = rest.length ? put(made[first] ?? {}, { [rest.join(".")]: value }) : value;
    }
    return made;
  }
  function changed({ data, layout }, { alt, subtitle, traces = [], layout: changes = {} }) {
    const told = { ...changes, meta: { alt } };
    if (subtitle !== void 0) {
      const text = wrapped(subtitle), now = breaks(layout.title.subtitle.text);
      told["title.subtitle.text"] = text;
      told["margin.t"] = layout.margin.t + 18 * (breaks(text) - now);
    }
    if (changes.height) told["title.y"] = 1 - 18 / changes.height;
    return { data: traces.map(({ of, ...change }, i) => put(data[of ?? i], change)), layout: put(layout, told) };
  }
  var range = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i);
  var descending = (values) => range(values.length).sort((a, b) => values[b] - values[a]);

  // figures/in_page/curves.js
  function after(number) {
    const place = new Float64Array([number]);
    new BigInt64Array(place.buffer)[0] += 1n;
    return place[0];
  }
  function places(reach, count, more) {
    const step = 2 * reach / (count - 1);
    const even = range(count).map((i) => i === count - 1 ? reach : i * step - reach);
    return [.../* @__PURE__ */ new Set([...even, ...more.filter((x) => Math.abs(x) <= reach)])].sort((a, b) => a - b);
  }
  function boundOfHMinus({ tau, delta, offset, start = 0.5, lift_ties }) {
    const afterDelta = offset ?? start + sigma(delta / tau), lifted = start >= 0.5;
    if (afterDelta < 1 || !(lifted || delta === 0)) return "fails";
    return lifted && lift_ties ? "holds" : "fails at ties";
  }
  function twoSigmoids({ tau1, tau2 }, start) {
    const traces = [], notes = start.layout.annotations.slice(0, 2), areas = [];
    [[tau1, 10], [tau2, 0.1]].forEach(([tau, reach], column) => {
      const x = places(reach, 601, [-1e-12, 0]);
      const value = x.map(sigmoid(tau).value), step = x.map(heaviside().value);
      const off = value.map((one, i) => Math.abs(one - step[i]));
      areas.push(general(x.slice(1).reduce((sum, one, i) => sum + (one - x[i]) * (off[i + 1] + off[i]) / 2, 0), 3));
      traces.push({ x, y: step }, { x, y: value });
      notes.push({ ...start.layout.annotations[2 + column], text: `area between them<br><b>${areas[column]}</b>` });
    });
    const alt = `Left, a sigmoid of temperature ${general(tau1)} over ranks, ${areas[0]} away from the step in area; right, one of temperature ${general(tau2)} over similarity gaps, ${areas[1]} away.`;
    return changed(start, { alt, traces, layout: { annotations: notes } });
  }
  var OFFSETS = { paper: [null, 0.5], released: [1.44, 0.5], "released, iNaturalist": [1, 0] };
  function hMinusVersions({ tau, rho, delta, offset: version, lift_ties, compare, reach }, start) {
    const [offset, lift] = OFFSETS[version], knobs = { tau, rho, delta, offset, start: lift, lift_ties };
    const beyond = after(delta), x = places(reach, 801, [-1e-9, 0, 1e-9, delta, beyond]);
    const curve = hMinus(knobs), curves = [curve, heaviside(), sigmoid(tau)].slice(0, compare ? 3 : 1);
    const [before, behind2] = [curve.slope(delta), curve.slope(beyond)].map((slope) => general(slope, 3));
    const jump = signed(curve.value(beyond) - curve.value(delta), 3), bound = boundOfHMinus(knobs);
    const { annotations, shapes } = start.layout, shown = delta <= reach;
    const notes = shown ? annotations.slice(2).map((one) => ({ ...one, x: delta })) : [];
    return changed(start, {
      subtitle: `at δ the slope goes from <b>${before}</b> to <b>${behind2}</b>, the value jumps by <b>${jump}</b> · ` + badge(bound === "holds", `bound ${bound}`),
      alt: `H minus (${version}) against the gap. Its slope is ${before} just before delta and ${behind2} after it, the value jumps by ${jump}; as an upper bound of the step it ${bound}.`,
      traces: curves.flatMap(({ value, slope }) => [{ x, y: x.map(value) }, { x, y: x.map(slope) }]),
      layout: {
        annotations: [...annotations.slice(0, 2), ...notes],
        shapes: shown ? shapes.map((one) => ({ ...one, x0: delta, x1: delta })) : void 0
      }
    });
  }
  function alive([low, high]) {
    if (low === high) return "nowhere";
    if (high === Infinity) return low === -Infinity ? "everywhere" : `from ${general(low, 3)} up`;
    return `${general(low, 3)} to ${general(high, 3)}`;
  }
  function allSurrogates({ tau, rho, delta, released, alpha, bins, phase, reach }, start) {
    const ofHMinus = { tau, rho, delta, offset: released ? 1.44 : null };
    const curves = [
      ["step H", heaviside(), "holds"],
      ["sigmoid", sigmoid(tau), "fails"],
      [released ? "H⁻ (released)" : "H⁻", hMinus(ofHMinus), boundOfHMinus(ofHMinus)],
      ["constant gradient θ", constantGradient(2 * alpha), "holds"],
      // of D = 2 - 2s
      ["soft bin", softBins({ bins, phase }), phase === 0 ? "holds" : "fails"],
      ["linear tail", linearTail(tau), "holds"]
    ];
    const x = places(reach, 801, [0, -1e-9, 1e-9, delta, after(delta)]);
    const slopes = curves.map(([, { slope }]) => x.map(slope));
    const steepest = Math.max(...slopes.flat());
    const names = curves.map(([name]) => name), bounds = curves.map(([, , bound]) => bound);
    const ranges = curves.map(([, { reach: ends }]) => alive(ends));
    const colours = bounds.map((bound) => bound === "holds" ? BLUE : VERMILLION);
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
          "cells.font.color": ["#222", colours, "#222", "#222", "#222"]
        }
      ],
      layout: { "yaxis2.range": [-0.04 * steepest, 1.06 * steepest] }
    });
  }
  function rankPlus({ rank_plus: plus, rank_minus: minus }, start) {
    const total = plus + minus, precision = fixed(plus / total, 3);
    const byPlus = signed(minus / total ** 2, 4), byMinus = signed(-plus / total ** 2, 4);
    const annotations = minus ? start.layout.annotations.map((one, i) => {
      const place = { x: i < 2 ? Math.min(30, plus + 6) : plus, y: i < 2 ? minus : Math.max(0, minus - 6) };
      return { ...one, ...place, ...one.showarrow ? { ax: plus, ay: minus } : {} };
    }) : void 0;
    return changed(start, {
      subtitle: `precision ${precision} · ∂/∂rank⁺ = <b>${byPlus}</b> (never negative: ascent sends the positive down) · ∂/∂rank⁻ = <b>${byMinus}</b>`,
      alt: `Precision of a positive over rank plus and rank minus. At rank plus ${plus} with ${minus} negatives ahead it is ${precision}; its derivative by rank plus is ${byPlus}, never negative, and by rank minus ${byMinus}.`,
      traces: [{}, { x: [plus], y: [minus] }],
      layout: { annotations }
    });
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

  // playground/ranking.js
  function unit(rows, n, d) {
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
  function throughUnit(gradient, units, lengths, n, d) {
    const out = new Float64Array(n * d);
    for (let i = 0; i < n; i++) {
      let along = 0;
      for (let t = i * d; t < (i + 1) * d; t++) along += gradient[t] * units[t];
      const scale = lengths[i] > 0 ? 1 / lengths[i] : 1;
      for (let t = i * d; t < (i + 1) * d; t++) out[t] = (gradient[t] - along * units[t]) * scale;
    }
    return out;
  }
  function softRanks(list, scores, surrogate) {
    return list.map(
      (item) => list.reduce((rank, other) => other === item ? rank : rank + surrogate.value(scores[other] - scores[item]), 1)
    );
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

  // figures/in_page/lists.js
  function read({ scores, pattern }) {
    const relevant = [...pattern].map((sign) => sign === "+");
    const hold = "must hold one + (same label) or - (other label) per score", got = `got ${quoted(pattern)}.`;
    const n = scores.length, known = !/[^+-]/.test(pattern) && relevant.length === n;
    if (!known) return { refused: `pattern ${hold}, ${n} in all, ${got}` };
    const needs = `pattern needs at least one +, the query has nothing to find otherwise; ${got}`;
    if (!relevant.includes(true)) return { refused: needs };
    return { relevant, count: relevant.filter(Boolean).length };
  }
  function called(relevant, faces) {
    const before = relevant.map((mine, i) => relevant.slice(0, i).filter((other) => other === mine).length);
    const found = relevant.map((mine, i) => faces[mine ? "+" : "-"][before[i]]);
    return found.every(Boolean) ? found : relevant.map((mine, i) => [`${mine ? "P" : "N"}${before[i] + 1}`]);
  }
  function strip({ scores }, relevant, push, named, start) {
    const order = descending(scores), n = scores.length, place = [];
    order.forEach((item, i) => place[item] = i + 1);
    const low = Math.min(...scores), high = Math.max(...scores), spread = Math.max(high - low, 0.02);
    const ends = [low - 0.3 * spread, high + 0.3 * spread], withFaces = named[0].length > 1;
    const traces = [true, false].map((kind, i) => {
      const mine = range(n).filter((item) => relevant[item] === kind), of = (values) => mine.map((item) => values[item]);
      const ring = withFaces ? {} : { "marker.symbol": ["circle", "x"][i], "marker.size": 13 };
      return { x: of(scores), y: of(place), text: of(named).map(([name]) => name), customdata: of(push), ...ring };
    });
    const largest = Math.max(...push.map(Math.abs));
    const felt = range(n).filter((item) => largest > 0 && Math.abs(push[item]) >= 4e-3 * largest);
    const arrows = felt.map((item) => ({
      ...start.layout.annotations[2],
      x: scores[item] + 0.22 * spread * push[item] / largest,
      y: place[item],
      ax: scores[item],
      ay: place[item],
      arrowcolor: push[item] > 0 === relevant[item] ? BLUE : VERMILLION
    }));
    const look = { ...start.layout.images[0], sizex: 0.1 * (ends[1] - ends[0]) };
    const laid = ([, source], item) => ({ ...look, source, x: scores[item], y: place[item] });
    const layout = {
      images: withFaces ? named.map(laid) : void 0,
      "xaxis.range": ends,
      "yaxis.range": [n + 0.8, 0.3],
      "yaxis.tickvals": range(n, 1),
      "yaxis.ticktext": order.map((item, i) => `${named[item][0]} ${relevant[item] ? RIGHT : WRONG} ${i + 1}`)
    };
    return { traces, arrows, layout };
  }
  function recallStrip(knobs, start, { faces }) {
    const { scores, k, tau1, tau2, divide_by_k, clip: clip2 } = knobs, { relevant, count, refused } = read(knobs);
    if (refused) return { refused };
    const items = range(scores.length), named = called(relevant, faces), mine = items.filter((x2) => relevant[x2]);
    const ranking = sigmoid(tau2), counting = sigmoid(tau1), divisor = divide_by_k ? Math.min(k, count) : count;
    const soft = softRanks(items, scores, ranking), rank = softRanks(items, scores, heaviside());
    const credit = soft.map((one) => counting.value(k - one)), within = mine.reduce((sum, x2) => sum + credit[x2], 0);
    const push = scores.map(() => 0);
    for (const x2 of mine.filter(() => !clip2 || within <= k)) {
      const weight = sigmaSlope((k - soft[x2]) / tau1) / tau1 / divisor;
      for (const z of items.filter((one) => one !== x2)) {
        const slope = weight * ranking.slope(scores[z] - scores[x2]);
        push[z] -= slope;
        push[x2] += slope;
      }
    }
    const hits = mine.filter((x2) => rank[x2] <= k).length, hit = hits > 0 ? 1 : 0, recall = fixed(hits / count, 3);
    const target = Math.min(hits / count * count, k) / divisor;
    const value = (clip2 ? Math.min(within, k) : within) / divisor;
    const surrogate = fixed(value, 3), off = signed(value - target, 3);
    const order = [...mine].sort((a, b) => rank[a] - rank[b]), x = order.map((item) => named[item][0]);
    const sizes = push.map(Math.abs);
    const bars = [order.map((item) => (rank[item] <= k ? 1 : 0) / divisor), order.map((item) => credit[item] / divisor)];
    const { traces, arrows, layout } = strip(knobs, relevant, push, named, start);
    const [first, second] = start.layout.annotations;
    const told = changed(start, {
      subtitle: `recall@${k} = ${recall} · hit rate r@${k} = ${hit} · trained target ${fixed(target, 3)} · <b>rs@${k} = ${surrogate}</b>, ${off} from its target`,
      alt: `A list of ${scores.length} items, ${count} positive. recall@${k} is ${recall}, the hit rate ${hit}, the surrogate ${surrogate}, ${off} from what it stands for; the strongest push is on ${named[sizes.findIndex((one) => one >= (1 - 1e-9) * Math.max(...sizes))][0]}.`,
      // the first of equals
      traces: [...traces, ...bars.map((y) => ({ x, y, text: y.map((one) => fixed(one, 2)) }))],
      layout: {
        ...layout,
        annotations: [first, { ...second, text: `what each positive adds to rs@${k}` }, ...arrows],
        "yaxis2.title.text": `share of rs@${k}`
      }
    });
    return { ...told, idle: [...within > k ? [] : ["clip"], ...k >= count ? ["divide_by_k"] : []] };
  }
  var LOSSES = { ap: "1 - AP", smooth_ap: "SmoothAP", sup_ap: "SupAP" };
  function smoothPrecision(scores, relevant, among, ahead) {
    const items = range(scores.length), mine = items.filter((x) => relevant[x]), push = scores.map(() => 0);
    let sum = 0;
    for (const x of mine) {
      const others = items.filter((z) => z !== x), gap = (z) => scores[z] - scores[x];
      const of = (wanted) => others.filter((z) => relevant[z] === wanted);
      const close = of(true).reduce((total, z) => total + among.value(gap(z)), 1);
      const rank = of(false).reduce((total, z) => total + ahead.value(gap(z)), close);
      sum += close / rank;
      const byRank = -(close / rank / rank) / mine.length, byClose = 1 / mine.length / rank + byRank;
      for (const z of others) {
        const slope = relevant[z] ? byClose * among.slope(gap(z)) : byRank * ahead.slope(gap(z));
        push[z] += slope;
        push[x] -= slope;
      }
    }
    return { loss: 1 - sum / mine.length, push };
  }
  function apStrip(knobs, start, { faces }) {
    const { scores, loss, tau, rho, delta } = knobs, { relevant, refused } = read(knobs);
    if (refused) return { refused };
    const step = heaviside(), smooth = sigmoid(tau);
    const pairs = [[step, step], [smooth, smooth], [step, hMinus({ tau, rho, delta })]];
    const all = pairs.map((two) => smoothPrecision(scores, relevant, ...two));
    const values = all.map((one) => one.loss), texts = values.map((value) => fixed(value, 3));
    const { push } = all[Object.keys(LOSSES).indexOf(loss)], bounds = values.map((value) => value >= values[0] - 1e-12);
    const names = Object.values(LOSSES);
    const badges = [1, 2].map((i) => badge(bounds[i], `${names[i]} ${bounds[i] ? "bounds" : "is below"} 1 - AP here`));
    const wrong = push.filter((one, item) => relevant[item] ? one < -1e-9 : one > 1e-9).length;
    const { traces, arrows, layout } = strip(knobs, relevant, push, called(relevant, faces), start);
    const [first, second] = start.layout.annotations;
    return changed(start, {
      subtitle: badges.join(" · "),
      alt: `A list of ${push.length} items. 1 - AP is ${texts[0]}, SmoothAP ${texts[1]}, SupAP ${texts[2]}; ${loss} pushes ${wrong} items the wrong way.`,
      traces: [
        ...traces,
        {
          y: values,
          text: texts,
          "marker.color": [BLACK, ...bounds.slice(1).map((holds) => holds ? BLUE : VERMILLION)],
          "marker.pattern.shape": ["", ...bounds.slice(1).map((holds) => holds ? "" : "/")]
        }
      ],
      layout: {
        ...layout,
        annotations: [{ ...first, text: `the list, and the push of ${LOSSES[loss]}` }, second, ...arrows],
        shapes: start.layout.shapes.map((line) => ({ ...line, y0: values[0], y1: values[0] }))
      }
    });
  }
  function twoBatches({ shift, scale, lam, batches, positives, negatives, alpha, beta }, start) {
    if (beta >= alpha)
      return { refused: `TwoBatches: beta must be below alpha, got beta ${general(beta)} and alpha ${general(alpha)}.` };
    const positive = range(positives).map((i) => 0.92 - 0.06 * scale * i), lowest = Math.min(...positive);
    const negative = range(negatives).map((i) => lowest - 0.08 * scale - 0.05 * scale * i);
    const relevant = [...positive.map(() => true), ...negative.map(() => false)];
    const lists = range(batches).map((b) => [...positive, ...negative].map((score, i) => {
      const at = score - b * shift, target = relevant[i] ? Math.max(at, alpha) : Math.min(at, beta);
      return (1 - lam) * at + lam * target;
    }));
    const inside = lists.map((list) => averagePrecision(list, relevant));
    lists.push(lists.flat());
    const marks = lists.map((list) => list.map((_, i) => relevant[i % relevant.length]));
    const whole = averagePrecision(lists[batches], marks[batches]), all = [...inside, whole];
    const gap = fixed(mean(inside) - whole, 3), overall = fixed(whole, 3);
    const bound = fixed(bound8(inside.map(() => positives), inside.map(() => negatives)), 3);
    const rows = [...range(batches, 1).map((b) => `batch ${b}`), "all merged"];
    const perfect = all.map((one) => one > 1 - 1e-12);
    const { annotations, shapes } = start.layout, limits = [alpha, beta];
    return changed(start, {
      subtitle: `mean AP of the batches ${fixed(mean(inside), 3)} · AP of all <b>${overall}</b> · decomposability gap <b>${gap}</b>, at most ${bound} (eq. 8)`,
      alt: `${batches} batches with AP ${inside.map((one) => fixed(one, 2)).join(", ")}; merged, AP is ${overall}: a decomposability gap of ${gap}, bounded by ${bound}.`,
      traces: [
        ...[true, false].map((wanted) => ({
          x: lists.flatMap((list, row) => list.filter((_, i) => marks[row][i] === wanted)),
          y: rows.flatMap((name, row) => marks[row].filter((mine) => mine === wanted).map(() => name))
        })),
        {
          x: all,
          y: rows,
          text: all.map((one, i) => `${perfect[i] ? RIGHT : WRONG} ${fixed(one, 3)}`),
          "marker.color": perfect.map((ok) => ok ? BLUE : VERMILLION),
          "marker.pattern.shape": perfect.map((ok) => ok ? "" : "/")
        }
      ],
      layout: {
        height: 240 + 60 * rows.length,
        annotations: annotations.map((one, i) => i < 2 ? one : { ...one, x: limits[i - 2] }),
        shapes: shapes.map((line, i) => ({ ...line, x0: limits[i], x1: limits[i] }))
      }
    });
  }
  function gapBounds({ batches, alpha, beta, noise, positives, negatives, splits, seed }, start) {
    const relevant = range(positives + negatives).map((i) => i < positives), sizes = range(batches, 1);
    const gaps = [], refined = [];
    for (const count of sizes) {
      const draw = random(seed + 1e3 * count);
      const drawn = range(splits).map(() => {
        const lists = range(count).map(() => {
          const level = noise * normal(draw), positive = range(positives).map(() => 1 - 0.15 * draw() + level);
          const lowest = Math.min(...positive) - 0.02;
          return [...positive, ...range(negatives).map(() => lowest - 0.6 * draw())];
        });
        const seen = (test) => lists.map((list) => list.filter((score, i) => test(score, relevant[i])).length);
        const good = seen((score, mine) => mine && score >= alpha), bad = good.map((one) => positives - one);
        const loud = seen((score, mine) => !mine && score > beta), others = loud.map(() => negatives);
        const gap2 = 1 - averagePrecision(lists.flat(), lists.flatMap(() => relevant));
        return { gap: gap2, refined: largestBound9(good, bad, loud, others) };
      });
      gaps.push(drawn.map(({ gap: gap2 }) => gap2));
      refined.push(mean(drawn.map((one) => one.refined)));
    }
    const bound = sizes.map((n) => bound8(range(n).map(() => positives), range(n).map(() => negatives)));
    const [low, high] = [Math.min, Math.max].map((end) => gaps.map((row) => end(...row))), middle = gaps.map(mean);
    const [gap, plain, fine] = [middle, bound, refined].map((values) => values.at(-1));
    return changed(start, {
      subtitle: `every batch alone has AP 1; with ${batches} of them the whole list has ${fixed(1 - gap, 3)}`,
      alt: `Gap and bounds for up to ${batches} perfectly ranked batches. At the right end the gap is ${fixed(gap, 3)}, equation 8 allows ${fixed(plain, 3)}, equation 9 ${fixed(fine, 3)}.`,
      traces: [
        { x: [...sizes, ...sizes.toReversed()], y: [...high, ...low.toReversed()] },
        ...[middle, bound, refined].map((y) => ({ x: sizes, y }))
      ]
    });
  }
  function precisionCounter({ pattern, missing }, start) {
    if (/[^+-]/.test(pattern) || !pattern.includes("+"))
      return { refused: `PrecisionCounter: pattern must hold + and - with at least one +, got ${quoted(pattern)}.` };
    const hits = [...pattern].map((sign) => sign === "+"), ranks = range(hits.length, 1);
    let seen = 0;
    const precision = ranks.map((rank) => (seen += hits[rank - 1] ? 1 : 0) / rank), total = seen + missing;
    const sum = (values) => values.reduce((all, one) => all + one, 0) / total;
    const found = ranks.filter((rank) => hits[rank - 1]), within = found.filter((rank) => rank <= total);
    const at = (places2) => places2.map((rank) => precision[rank - 1]);
    const metrics = [["r@1", hits[0] ? 1 : 0], ["R-precision", within.length / total]];
    metrics.push(["MAP@R", sum(at(within))], ["AP", sum(at(found))]);
    const told = metrics.map(([name, value]) => [name, fixed(value, 3)]);
    const groups = [within, found.filter((rank) => rank > total), ranks.filter((rank) => !hits[rank - 1])];
    const { annotations: [note], shapes: [line] } = start.layout, edge = total + 0.5;
    return changed(start, {
      subtitle: `R = ${total} · ${told.map(([name, value]) => `${name} <b>${value}</b>`).join(" · ")}`,
      alt: `A list ${pattern} with ${total} positives in all: ${told.map((two) => two.join(" ")).join(", ")}.`,
      traces: groups.map((x) => ({ x, y: at(x), text: at(x).map((one) => fixed(one, 2)) })),
      layout: {
        annotations: [{ ...note, text: `R = ${total}`, x: edge }],
        shapes: [{ ...line, x0: edge, x1: edge }],
        "xaxis.range": [0.4, Math.max(hits.length, total) + 0.8]
      }
    });
  }
  function retrievalProtocols(knobs, start, { vectors, names, pictures }) {
    const { k, query: asked, exclude_self, same_source } = knobs;
    const everyone = range(names.length), kind = (item) => Math.floor(item / 3);
    const queries = same_source ? everyone : everyone.filter((item) => item % 3 === 0);
    const gallery = same_source ? everyone : everyone.filter((item) => item % 3);
    const order = queries.map((q) => {
      const scores = gallery.map((item) => vectors[q][0] * vectors[item][0] + vectors[q][1] * vectors[item][1]);
      return descending(scores).map((i) => gallery[i]).filter((item) => item !== q || !exclude_self);
    });
    const hits = order.map((row, i) => row.map((item) => kind(item) === kind(queries[i])));
    const count = (row) => row.filter(Boolean).length, top = hits.map((row) => count(row.slice(0, k)));
    const query = Math.min(asked, queries.length - 1), found = top[query], positives = count(hits[query]);
    const hitRate = fixed(mean(top.map((one) => one ? 1 : 0)), 3);
    const recall = fixed(mean(top.map((one, i) => one / count(hits[i]))), 3);
    const cell = (y) => (item, x) => ({ x, y, item, own: item === queries[y], hit: hits[y][x] });
    const table = order.map((row, y) => row.map(cell(y))), cells = table.flat();
    const mark = ({ own, hit }) => own ? "self" : hit ? RIGHT : WRONG, columns = order[0].length;
    const rows = (of) => table.map((row) => row.map(of));
    const laid = (item, x, y) => ({ ...start.layout.images[0], source: pictures[item], x, y });
    const { annotations: [note], shapes: [line, frame] } = start.layout, edge = k + 0.5;
    const told = changed(start, {
      subtitle: `r@${k}, at least one hit: <b>${hitRate}</b> · recall@${k}, share of the positives: <b>${recall}</b> · framed: ${names[queries[query]]} finds ${found} of ${positives} by rank ${k}, so r@${k} = ${found > 0 ? 1 : 0} and recall@${k} = ${fixed(found / Math.max(1, positives), 2)}`,
      alt: `Ranked lists of ${queries.length} queries. r@${k} is ${hitRate}, recall@${k} ${recall}; a query is ${cells.some(({ own }) => own) ? "" : "never "}ranked in its own list. ${names[queries[query]]} finds ${found} of its ${positives} positives.`,
      traces: [
        {
          x: range(columns, 1),
          z: rows(({ own, hit }) => own ? 1 : hit ? 2 : 0),
          text: rows(mark),
          customdata: rows(({ item }) => names[item])
        },
        { x: cells.map(({ x }) => x + 1.32), y: cells.map(({ y }) => y), text: cells.map(mark) }
      ],
      layout: {
        height: 220 + 42 * queries.length,
        images: [...cells.map(({ item, x, y }) => laid(item, x + 0.85, y)), ...queries.map((q, y) => laid(q, 0, y))],
        annotations: [{ ...note, text: `k = ${k}`, x: edge }],
        shapes: [{ ...line, x0: edge, x1: edge }, { ...frame, x1: columns + 0.5, y0: query - 0.5, y1: query + 0.5 }],
        "xaxis.tickvals": range(columns, 1),
        "yaxis.range": [queries.length - 0.5, -0.5],
        "yaxis.tickvals": range(queries.length),
        "yaxis.ticktext": queries.map((item) => names[item])
      }
    });
    const clicked = (x, y) => ({ query: Math.round(y), k: Math.min(Math.max(Math.round(x), 1), 12) });
    return { ...told, idle: same_source ? [] : ["exclude_self"], clicked };
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
  var LOSSES2 = {
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
    const loss = LOSSES2[name];
    if (!loss) throw new Error(`There is no loss '${name}'. Known: ${Object.keys(LOSSES2).join(", ")}.`);
    return loss.measure(batch, { ...loss.knobs, ...knobs }, given);
  }
  function ofCosines(loss) {
    return ({ rows, n, d, labels }, knobs) => {
      const { units, lengths } = unit(rows, n, d);
      const { value, perQuery, slopes } = loss(similarities(units, n, d), n, labels, knobs);
      const gradient = throughUnit(throughSimilarities(slopes, units, n, d), units, lengths, n, d);
      return { value, perQuery, gradient, pairs: slopes };
    };
  }
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
      const pairs = slopes.map((slope, i) => distances[i] ? -slope / distances[i] : 0);
      const gradient = throughUnit(throughSimilarities(pairs, units, n, d), units, lengths, n, d);
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
    const { units, lengths } = unit(rows, n, d);
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
    return { ...result, pairs, gradient: throughUnit(wide.subarray(0, n * d), units, lengths, n, d) };
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
  function roundHalfToEven(number) {
    const down = Math.floor(number);
    return number - down === 0.5 ? down + down % 2 : Math.round(number);
  }

  // figures/in_page/planes.js
  var OTHERS = [["a", 10, 1], ["b", -20, 0.8], ["c", 30, 1.2], ["t", 90, 1], ["u", -120, 0.9]];
  var LETTERS = "ABCDEF";
  function vectorLengths({ length, angle }, start) {
    const all = [["S", angle, length], ...OTHERS].map(([name, degrees, size]) => {
      const radians = degrees * (Math.PI / 180);
      return { name, size, x: size * Math.cos(radians), y: size * Math.sin(radians), mine: "abc".includes(name) };
    });
    const ways = [["cosine", ({ x, size }) => x / size], ["inner product", ({ x }) => x]];
    ways.push(["distance", ({ x, y }) => -Math.sqrt((x - 1) ** 2 + y ** 2)]);
    const orders = ways.map(([way, score]) => [way, descending(all.map(score))]);
    const place = orders.map(([way, order]) => [way, order.indexOf(0) + 1]);
    const ranked = orders.flatMap(([way, order]) => order.map((row, i) => ({ way, rank: i + 1, ...all[row] })));
    const traces = [true, false].flatMap((wanted) => {
      const [some, shown] = [all, ranked].map((list) => list.filter(({ mine }) => mine === wanted));
      const from = (axis2) => some.flatMap((one) => [0, one[axis2], NaN]), texts = (list) => list.map(({ name }) => name);
      return [
        { x: from("x"), y: from("y") },
        { x: some.map(({ x }) => x), y: some.map(({ y }) => y), text: texts(some) },
        { x: shown.map(({ rank }) => rank), y: shown.map(({ way }) => way), text: texts(shown) }
      ];
    });
    return changed(start, {
      subtitle: `the stranger S is number ${place.map(([way, number]) => `<b>${number}</b> by ${way}`).join(", ")}`,
      alt: `A stranger of length ${general(length)} at ${general(angle)} degrees from the query: number ${place[0][1]} of six by cosine, ${place[1][1]} by inner product, ${place[2][1]} by distance.`,
      traces: [{}, ...traces]
    });
  }
  function initial({ seed, classes, per_class: each, m, start }) {
    const draw = random(seed), normals = (count, scale) => range(2 * count).map(() => scale * normal(draw));
    const free = normals(classes, start === "origin" ? 0.05 : 1.2), points = normals(classes * each, 0.8);
    const turned = (c, of) => Math.sqrt(2) * m * of(2 * Math.PI * c / classes);
    const circle = range(classes).flatMap((c) => [turned(c, Math.cos), turned(c, Math.sin)]);
    return { anchors: start === "circle" ? circle : free, points };
  }
  var axis = (places2, at) => Array.from(places2).filter((_, i) => i % 2 === at);
  function ownAnchors(knobs) {
    const [x, y] = [0, 1].map((at) => axis(initial(knobs).anchors, at).map((one) => Number(fixed(one, 4))));
    return { x, y, classes: LETTERS.slice(0, knobs.classes), fixed: true };
  }
  function anchorSandbox(knobs, start, { whole }) {
    const { step, lr, m, p, classes, per_class: each, anchors_x: x, anchors_y: y } = knobs, own = initial(knobs);
    const dragged = x.length > 0 || y.length > 0, one = `must hold one number a class, ${classes}, got`;
    if (dragged && !(x.length === classes && y.length === classes))
      return { refused: `AnchorSandbox: anchors_x and anchors_y ${one} ${x.length} and ${y.length}.` };
    const anchors = Float64Array.from(dragged ? x.flatMap((one2, c) => [one2, y[c]]) : own.anchors);
    const rows = Float64Array.from(own.points), n = classes * each, labels = range(n).map((i) => Math.floor(i / each));
    const off = { attractor: false, repeller: false, min_norm: false };
    const on = Object.keys(off).filter((name) => knobs[name]);
    const batch = { rows, n, d: 2, labels }, given = { weights: anchors };
    const term = (name) => lossOf("class_anchor_margin", batch, { ...off, [name]: true, m, p }, given);
    const sum = (made2, name, i) => made2.reduce((total, one2) => total + one2[name][i], 0), path = [anchors.slice()];
    for (let taken = 0; taken < step && on.length; taken++) {
      const made2 = on.map(term);
      anchors.forEach((_, i) => anchors[i] -= lr * sum(made2, "weights", i));
      rows.forEach((_, i) => rows[i] -= lr * n * sum(made2, "gradient", i) / classes);
      path.push(anchors.slice());
    }
    const made = on.map(term), loss = made.reduce((total, { value }) => total + value, 0);
    const longest = Math.max(...made.flatMap(({ weights }) => [...weights.map(Math.abs)]), 0.01);
    const ends = (weights, at) => axis(anchors.map((one2, i) => one2 - 1.5 * m * weights[i] / longest), at);
    const arrows = (weights, at) => axis(anchors, at).flatMap((one2, c) => [one2, ends(weights, at)[c], NaN]);
    const of = (c, at) => axis(rows, at).slice(c * each, (c + 1) * each);
    const places2 = range(classes).map((c) => [...anchors.slice(2 * c, 2 * c + 2)]);
    const lengths = places2.map(([x2, y2]) => Math.hypot(x2, y2));
    const apart = places2.flatMap(([x2, y2], a) => places2.slice(0, a).map((one2) => Math.hypot(x2 - one2[0], y2 - one2[1])));
    const { length: last } = whole.data, names = Object.keys(off), head = last - 2 - names.length;
    return changed(whole, {
      subtitle: `step ${step}, loss <b>${fixed(loss, 3)}</b>; discs of radius m around the anchors may not overlap`,
      alt: `${classes} anchors and ${n} embeddings after ${step} steps. The nearest two anchors are ${fixed(Math.min(...apart), 2)} apart, 2m is ${general(2 * m)}; the shortest anchor is ${fixed(Math.min(...lengths), 2)} long, p is ${general(p)}.`,
      traces: [
        ...range(classes).flatMap((c) => [
          { x: of(c, 0), y: of(c, 1) },
          { x: path.map((all) => all[2 * c]), y: path.map((all) => all[2 * c + 1]) }
        ]),
        {
          of: head,
          x: axis(anchors, 0),
          y: axis(anchors, 1),
          text: [...LETTERS.slice(0, classes)],
          "marker.color": whole.data[head].marker.color.slice(0, classes)
        },
        ...made.map(({ weights }, i) => ({
          of: head + 1 + names.indexOf(on[i]),
          x: arrows(weights, 0),
          y: arrows(weights, 1),
          "marker.size": range(3 * classes).map((at) => at % 3 === 1 ? 14 : 0)
        })),
        { of: last - 1 }
      ],
      layout: {
        shapes: places2.map(([x2, y2], c) => ({ ...whole.layout.shapes[c], x0: x2 - m, x1: x2 + m, y0: y2 - m, y1: y2 + m }))
      }
    });
  }

  // figures/in_page/closed_forms.js
  var FORMS = {
    anchor_sandbox: anchorSandbox,
    ap_strip: apStrip,
    gap_bounds: gapBounds,
    h_minus: hMinusVersions,
    precision_counter: precisionCounter,
    rank_plus: rankPlus,
    recall_strip: recallStrip,
    retrieval_protocols: retrievalProtocols,
    surrogates: allSurrogates,
    two_batches: twoBatches,
    two_sigmoids: twoSigmoids,
    vector_lengths: vectorLengths
  };
  var OWN_POINTS = { anchor_sandbox: ownAnchors };

  // widgets/points.js
  var COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#6E6E6E"];
  var SIZE = 420;
  var EDGE = 16;
  var SHAPES = [
    "M-7,0a7,7 0 1,0 14,0a7,7 0 1,0 -14,0",
    "M-7,-4L-4,-7 0,-3 4,-7 7,-4 3,0 7,4 4,7 0,3 -4,7 -7,4 -3,0Z",
    "M-6,-6H6V6H-6Z",
    "M0,-8L7,6H-7Z",
    "M0,-8L8,0 0,8 -8,0Z",
    "M-3,-8H3V-3H8V3H3V8H-3V3H-8V-3H-3Z"
  ];
  var svg = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== void 0) node.textContent = text;
    return node;
  };
  var button = (tools, text, act) => {
    const node = Object.assign(document.createElement("button"), { type: "button", className: "lab-button" });
    node.textContent = text;
    node.addEventListener("click", act);
    tools.append(node);
    return node;
  };
  var round = (value) => Math.round(value * 1e4) / 1e4;
  function render({ model, el }) {
    const root = document.createElement("div");
    root.className = "lab-drag";
    root.style.maxWidth = `${SIZE + 20}px`;
    const canvas = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "points in the plane" });
    const tools = document.createElement("div");
    tools.className = "tools";
    root.append(canvas, tools);
    el.append(root);
    let chosen = 0, held = null, box = { x: 0, y: 0, span: 1 };
    const xs = () => model.get("x"), ys = () => model.get("y"), classes = () => [...model.get("classes")];
    const letters = () => [...new Set(classes())].sort();
    const put2 = (x, y, c) => {
      model.set("x", x);
      model.set("y", y);
      model.set("classes", c.join(""));
      model.save_changes();
    };
    const move = (index, x, y) => put2(xs().map((v, i) => i === index ? round(x) : v), ys().map((v, i) => i === index ? round(y) : v), classes());
    const fixed2 = model.get("fixed");
    const change = (index) => {
      if (fixed2) return;
      const known = letters(), c = classes();
      c[index] = known[(known.indexOf(c[index]) + 1) % known.length];
      put2(xs(), ys(), c);
    };
    const remove = (index) => {
      if (fixed2 || xs().length <= 2) return;
      const keep = (list) => list.filter((_, i) => i !== index);
      chosen = Math.max(0, chosen - 1);
      put2(keep(xs()), keep(ys()), keep(classes()));
    };
    const frame = () => {
      const reach = (list) => [Math.min(...list), Math.max(...list)];
      const [x0, x1] = reach(xs()), [y0, y1] = reach(ys());
      const span = Math.max(x1 - x0, y1 - y0, 0.5) * 1.3;
      box = { x: (x0 + x1 - span) / 2, y: (y0 + y1 - span) / 2, span };
    };
    const px = (v) => EDGE + (v - box.x) / box.span * (SIZE - 2 * EDGE);
    const py = (v) => SIZE - EDGE - (v - box.y) / box.span * (SIZE - 2 * EDGE);
    const draw = (focus = false) => {
      if (held === null) frame();
      canvas.replaceChildren();
      canvas.append(svg("rect", { x: 1, y: 1, width: SIZE - 2, height: SIZE - 2, fill: "#fff", stroke: "#ccc" }));
      const line = { stroke: "#e4e4e4" };
      canvas.append(svg("line", { ...line, x1: px(0), x2: px(0), y1: 0, y2: SIZE }), svg("line", { ...line, y1: py(0), y2: py(0), x1: 0, x2: SIZE }));
      const known = letters();
      classes().forEach((letter, i) => {
        const kind = known.indexOf(letter);
        const grip = svg("g", {
          class: "grip" + (held === i ? " held" : ""),
          role: "slider",
          tabindex: i === chosen ? 0 : -1,
          "data-index": i,
          transform: `translate(${px(xs()[i])},${py(ys()[i])})`,
          "aria-label": `point ${i + 1} of class ${letter}`,
          "aria-valuenow": xs()[i],
          "aria-valuetext": `x ${xs()[i].toFixed(2)}, y ${ys()[i].toFixed(2)}`
        });
        grip.append(svg("path", { class: "ring", d: SHAPES[kind % SHAPES.length], fill: COLOURS[kind % COLOURS.length], stroke: "#fff", "stroke-width": 1 }));
        if (xs().length <= 16) grip.append(svg("text", { x: 9, y: -6 }, letter));
        canvas.append(grip);
        if (focus && i === chosen) grip.focus();
      });
    };
    canvas.addEventListener("pointerdown", (event) => {
      const grip = event.target.closest(".grip");
      if (!grip) return;
      held = chosen = Number(grip.dataset.index);
      canvas.setPointerCapture(event.pointerId);
      event.preventDefault();
      draw(true);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held === null) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse());
      const scale = box.span / (SIZE - 2 * EDGE), inside = (v) => Math.min(SIZE, Math.max(0, v));
      move(held, box.x + (inside(at.x) - EDGE) * scale, box.y + (SIZE - EDGE - inside(at.y)) * scale);
    });
    const release = () => {
      if (held === null) return;
      held = null;
      draw(true);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("keydown", (event) => {
      if (!event.target.closest(".grip")) return;
      const step = box.span * (event.shiftKey ? 0.05 : 0.01), x = xs()[chosen], y = ys()[chosen];
      const actions = {
        ArrowRight: () => move(chosen, x + step, y),
        ArrowLeft: () => move(chosen, x - step, y),
        ArrowUp: () => move(chosen, x, y + step),
        ArrowDown: () => move(chosen, x, y - step),
        PageDown: () => chosen = (chosen + 1) % xs().length,
        PageUp: () => chosen = (chosen + xs().length - 1) % xs().length,
        Enter: () => change(chosen),
        Delete: () => remove(chosen)
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
      draw(true);
    });
    if (!fixed2) {
      button(tools, "add", () => put2([...xs(), round(box.x + box.span / 2)], [...ys(), round(box.y + box.span / 2)], [...classes(), classes()[chosen]]));
      button(tools, "change class", () => change(chosen));
      button(tools, "remove", () => remove(chosen));
    }
    const help = document.createElement("span");
    help.className = "help";
    help.textContent = "Drag. Keys: arrows move (Shift: more), PageUp and PageDown choose" + (fixed2 ? "." : ", Enter changes the class, Delete removes.");
    tools.append(help);
    const redraw = () => draw(canvas.contains(document.activeElement));
    for (const name of ["x", "y", "classes"]) model.on(`change:${name}`, redraw);
    draw();
    return () => ["x", "y", "classes"].forEach((name) => model.off(`change:${name}`, redraw));
  }
  var points_default = { render };

  // widgets/strip.js
  var BLUE2 = "#0072B2";
  var VERMILLION2 = "#D55E00";
  var WIDEST = 760;
  var HEIGHT = 132;
  var LEFT = 30;
  var RIGHT2 = 30;
  var LINE = 62;
  var clip = (value) => Math.round(Math.min(1, Math.max(-1, value)) * 1e4) / 1e4;
  function render2({ model, el }) {
    const root = document.createElement("div");
    root.className = "lab-drag";
    const canvas = svg("svg", { role: "group", "aria-label": "ranked list of similarities" });
    const tools = document.createElement("div");
    tools.className = "tools";
    root.append(canvas, tools);
    el.append(root);
    let chosen = 0, held = null, low = 0, high = 1, width = WIDEST;
    const scores = () => model.get("scores"), pattern = () => model.get("pattern");
    const x = (s) => LEFT + (s - low) / (high - low) * (width - LEFT - RIGHT2);
    const faces = () => {
      const known = model.get("faces") ?? {}, count = { "+": 0, "-": 0 };
      const found = [...pattern()].map((sign) => known[sign]?.[count[sign]++]);
      return found.every(Boolean) ? found : null;
    };
    const names = () => {
      const shown = faces(), count = { "+": 0, "-": 0 };
      return shown?.map(([name]) => name) ?? [...pattern()].map((sign) => (sign === "+" ? "P" : "N") + ++count[sign]);
    };
    const put2 = (newScores, newPattern) => {
      model.set("scores", newScores);
      model.set("pattern", newPattern);
      model.save_changes();
    };
    const move = (index, value) => put2(scores().map((s, i) => i === index ? clip(value) : s), pattern());
    const flip = (index) => {
      const signs = [...pattern()];
      signs[index] = signs[index] === "+" ? "-" : "+";
      if (signs.includes("+")) put2(scores(), signs.join(""));
    };
    const remove = (index) => {
      const signs = [...pattern()].filter((_, i) => i !== index);
      if (signs.length < 2 || !signs.includes("+")) return;
      chosen = Math.min(chosen, signs.length - 1);
      put2(scores().filter((_, i) => i !== index), signs.join(""));
    };
    const frame = () => {
      low = Math.max(-1, Math.floor((Math.min(...scores()) - 0.08) * 10) / 10);
      high = Math.min(1, Math.ceil((Math.max(...scores()) + 0.04) * 10) / 10);
    };
    const draw = (focus = false) => {
      if (held === null) frame();
      width = Math.min(WIDEST, root.clientWidth - 20 || WIDEST);
      canvas.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      canvas.replaceChildren();
      canvas.append(svg("line", { x1: LEFT - 10, x2: width - RIGHT2 + 10, y1: LINE, y2: LINE, stroke: "#888" }));
      const tick = high - low > 0.8 ? width < 500 ? 0.5 : 0.2 : high - low > 0.35 ? 0.1 : 0.05;
      for (let s = Math.ceil(low / tick) * tick; s <= high + 1e-9; s += tick) {
        canvas.append(svg("line", { x1: x(s), x2: x(s), y1: LINE - 3, y2: LINE + 3, stroke: "#888" }));
        canvas.append(svg("text", { x: x(s), y: HEIGHT - 3, "text-anchor": "middle" }, s.toFixed(2)));
      }
      const last = { "+": [-99, -99], "-": [-99, -99] };
      const order = scores().map((s, i) => i).sort((a, b) => scores()[a] - scores()[b]);
      for (const i of order) {
        const sign = pattern()[i], at = x(scores()[i]), mine = sign === "+";
        const level = at - last[sign][0] >= 26 ? 0 : at - last[sign][1] >= 26 ? 1 : 0;
        last[sign][level] = at;
        const y = LINE + (mine ? -1 : 1) * (20 + 22 * level) + (mine ? 0 : -4);
        const grip = svg("g", {
          class: "grip" + (held === i ? " held" : ""),
          role: "slider",
          tabindex: i === chosen ? 0 : -1,
          "data-index": i,
          "aria-label": `${names()[i]}, ${mine ? "same" : "different"} label`,
          "aria-valuemin": -1,
          "aria-valuemax": 1,
          "aria-valuenow": scores()[i],
          "aria-valuetext": `similarity ${scores()[i].toFixed(3)}`
        });
        grip.append(svg("line", { x1: at, x2: at, y1: LINE, y2: y, stroke: "#bbb" }));
        const face = faces()?.[i];
        grip.append(svg("circle", { class: "ring", cx: at, cy: y, r: face ? 14 : 11, fill: mine && !face ? BLUE2 : "#fff", stroke: mine ? BLUE2 : VERMILLION2, "stroke-width": 2, "stroke-dasharray": mine ? "none" : "4 2" }));
        if (face) grip.append(svg("image", { href: face[1], x: at - 10, y: y - 10, width: 20, height: 20 }));
        else grip.append(svg("text", { x: at, y: y + 4, "text-anchor": "middle", style: `fill:${mine ? "#fff" : "#222"};font-weight:bold` }, names()[i]));
        canvas.append(grip);
        if (focus && i === chosen) grip.focus();
      }
    };
    canvas.addEventListener("pointerdown", (event) => {
      const grip = event.target.closest(".grip");
      if (!grip) return;
      held = chosen = Number(grip.dataset.index);
      canvas.setPointerCapture(event.pointerId);
      event.preventDefault();
      draw(true);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held === null) return;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse()).x;
      move(held, low + (place - LEFT) / (width - LEFT - RIGHT2) * (high - low));
    });
    const release = () => {
      if (held === null) return;
      held = null;
      draw(true);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("dblclick", () => flip(chosen));
    canvas.addEventListener("keydown", (event) => {
      if (!event.target.closest(".grip")) return;
      chosen = Number(event.target.closest(".grip").dataset.index);
      const step = event.shiftKey ? 0.05 : 0.01, s = scores()[chosen];
      const order = scores().map((_, i) => i).sort((a, b) => scores()[b] - scores()[a]), place = order.indexOf(chosen);
      const actions = {
        ArrowRight: () => move(chosen, s + step),
        ArrowUp: () => move(chosen, s + step),
        ArrowLeft: () => move(chosen, s - step),
        ArrowDown: () => move(chosen, s - step),
        Home: () => move(chosen, -1),
        End: () => move(chosen, 1),
        PageDown: () => chosen = order[Math.min(place + 1, order.length - 1)],
        PageUp: () => chosen = order[Math.max(place - 1, 0)],
        Enter: () => flip(chosen),
        Delete: () => remove(chosen)
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
      draw(true);
    });
    const middle = () => clip((Math.max(...scores()) + Math.min(...scores())) / 2);
    button(tools, "+ same label", () => put2([...scores(), middle()], pattern() + "+"));
    button(tools, "+ different label", () => put2([...scores(), middle()], pattern() + "-"));
    button(tools, "change label", () => flip(chosen));
    button(tools, "remove", () => remove(chosen));
    const help = document.createElement("span");
    help.className = "help";
    help.textContent = "Drag. Keys: arrows move (Shift: more), PageUp and PageDown choose, Enter changes the label, Delete removes.";
    tools.append(help);
    const redraw = () => scores().length === pattern().length && draw(canvas.contains(document.activeElement));
    model.on("change:scores", redraw);
    model.on("change:pattern", redraw);
    draw();
  }
  var strip_default = { render: render2 };

  // figures/live.js
  var BEAT = 80;
  async function unpackedText(packed) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  function recoloured(part, inks) {
    if (typeof part === "string") return inks[part.toLowerCase()] ?? part.replaceAll("#0072B2", inks["#0072b2"]);
    if (Array.isArray(part)) return part.map((one) => recoloured(one, inks));
    if (part === null || typeof part !== "object") return part;
    const dressed = ([name, one]) => [name, name === "bdata" ? one : recoloured(one, inks)];
    return Object.fromEntries(Object.entries(part).map(dressed));
  }
  function control({ label, stops }, value, moved) {
    const kind = { boolean: "tick", string: stops.length ? "list" : "field" }[typeof value] ?? "slider";
    const input = document.createElement(kind === "list" ? "select" : "input");
    input.setAttribute("aria-label", label);
    if (kind === "list") input.append(...stops.map((one) => new Option(one)));
    else Object.assign(input, { type: { tick: "checkbox", field: "text" }[kind] ?? "range" });
    if (kind === "slider") Object.assign(input, { min: 0, max: stops.length - 1, step: 1 });
    const now = () => ({ tick: input.checked, slider: stops[input.value] })[kind] ?? input.value;
    input.addEventListener("input", () => moved(now()));
    const output = document.createElement("output"), show = (told) => {
      if (kind === "tick") input.checked = told;
      else if (kind !== "slider") input.value = told;
      else if (now() !== told) input.value = stops.findIndex((stop) => stop >= told);
      output.textContent = `${told}`;
      if (kind === "slider") input.setAttribute("aria-valuetext", output.textContent);
    };
    return { show, parts: { tick: [input, label], slider: [label, input, output] }[kind] ?? [label, input] };
  }
  function player(label, stops, now, move) {
    let timer = 0;
    const rest = () => {
      timer = clearInterval(timer);
      button2.textContent = "▶ Play";
    };
    const step = () => button2.isConnected && now() < stops.at(-1) ? move(stops.find((stop) => stop > now())) : rest();
    const button2 = button(label, "▶ Play", () => {
      if (timer) return rest();
      if (now() >= stops.at(-1)) move(stops[0]);
      button2.textContent = "❚❚ Pause";
      timer = setInterval(step, BEAT);
    });
  }
  function stored({ sliders, frames, parts }, values) {
    const frame = frames[sliders.reduce((sum, one) => sum * one.stops.length + one.stops.indexOf(values[one.name]), 0)];
    const made = {};
    for (const [path, number] of frame) {
      let spot = made;
      path.slice(0, -1).forEach((name, i) => spot = spot[name] ??= typeof path[i + 1] === "number" ? [] : {});
      spot[path.at(-1)] = parts[number];
    }
    return made;
  }
  function computed({ form, start, given, defaults, floats }, values) {
    const { refused, idle, clicked, ...figure } = FORMS[form](values, start, given);
    const other = Object.keys(defaults).filter((name) => `${values[name]}` !== `${defaults[name]}`);
    const knobs = other.map((name) => `, ${name}=${written(values[name], floats.includes(name))}`);
    return { figure, refused, idle, clicked, code: `lab.figures.create('${form}'${knobs.join("")}).figure()` };
  }
  var ROOM = 700;
  var LETTER = 7.4;
  var panelsOf = (layout) => Object.keys(layout).filter((name) => /^xaxis\d*$/.test(name)).length;
  function narrowed({ data = [], layout }, width) {
    if (width >= ROOM || !layout.title?.subtitle) return { data, layout };
    const { title, margin, height, xaxis, xaxis2, yaxis, yaxis2 } = layout;
    const flat = (text2, size) => wrapped(text2.replaceAll("<br>", " "), Math.floor((width - 24) / size));
    const text = flat(title.text, 1.35 * LETTER), under = flat(title.subtitle.text, LETTER);
    const more = 24 * breaks(text) + 18 * (breaks(under) - breaks(title.subtitle.text));
    const told = { "title.text": text, "title.subtitle.text": under, "margin.t": margin.t + more, "margin.l": 50 };
    let tall = height + more;
    if (layout.legend?.orientation !== "h" && layout.showlegend !== false) {
      const room = 22 * data.filter(({ name, showlegend }) => name && showlegend !== false).length;
      const spot = { orientation: "h", yref: "container", y: 0.01, yanchor: "bottom", x: 0, xanchor: "left" };
      Object.assign(told, { legend: { ...layout.legend, ...spot }, "margin.b": 80 + room });
      tall += room;
    }
    if (panelsOf(layout) === 2 && xaxis.domain && yaxis2?.domain && xaxis.domain[1] < xaxis2.domain?.[0]) {
      const [low, high] = yaxis.domain, half = (high - low) / 2, gap = 0.11 * (high - low);
      told.yaxis = { ...yaxis, domain: [low + half + gap, high] };
      told.yaxis2 = { ...yaxis2, showticklabels: true, domain: [low, low + half - gap] };
      for (const one of ["xaxis", "xaxis2"]) told[one] = { ...layout[one], domain: [0, 1] };
      told.annotations = layout.annotations?.map((note) => {
        if (note.xref !== "paper" || note.yref !== "paper") return note;
        const y = note.x > xaxis.domain[1] ? low + half - gap : note.y;
        return { ...note, text: wrapped(note.text, Math.floor((width - 130) / LETTER)), x: 0.5, xanchor: "center", y };
      });
      tall += height * (data.some(({ type }) => type === "table") ? 1 : 0.6);
    }
    return { data, layout: put(layout, { ...told, height: tall, "title.y": 1 - 18 / tall }) };
  }
  function liveFigure(place, body, plotly, dark, told = () => {
  }) {
    const at = (name) => place.querySelector(`.${name}`);
    const values = { ...body.knobs };
    const controls = /* @__PURE__ */ new Map(), listeners = {};
    const scores = body.drag?.[0] === "scores", own = () => OWN_POINTS[body.form]?.(values);
    const unknown = () => Object.entries(body.in_page ?? {}).some(([name, known]) => !known.includes(values[name]));
    let now = {}, elsewhere = {}, due = 0;
    at("words").setAttribute("role", "status");
    const draw = () => {
      if (!unknown()) now = body.form ? computed(body, values) : stored(body, values);
      else if (elsewhere.of === JSON.stringify(values)) now = elsewhere;
      else return;
      place.classList.toggle("in-the-dark", dark());
      if (now.refused) {
        at("words").textContent = `✗ ${now.refused}`;
        return;
      }
      for (const [name, { label }] of controls) label.hidden = now.idle?.includes(name) ?? false;
      const inked = dark() ? recoloured(now.figure, body.inks) : now.figure;
      place.classList.toggle("wide", panelsOf(inked.layout) > 2);
      const { data, layout } = narrowed(inked, at("picture").clientWidth);
      at("words").textContent = layout.meta.alt;
      at("code").textContent = now.code;
      const height = place.classList.contains("fits") ? void 0 : layout.height;
      plotly.react(at("picture"), data, { ...layout, height, autosize: true }, { responsive: true, displaylogo: false });
      const clicked = ({ points: [{ x, y }] }) => now.clicked && set(now.clicked(x, y));
      at("picture").clicks ??= at("picture").on("plotly_click", clicked);
    };
    const soon = () => due ||= requestAnimationFrame(() => {
      due = 0;
      draw();
      if (unknown() || !now.refused) told(values);
    });
    const show = (picture, knobs) => {
      elsewhere = { ...picture, of: JSON.stringify(knobs) };
      draw();
    };
    const set = (changes) => {
      const before = JSON.stringify(own());
      Object.assign(values, changes);
      const moved = JSON.stringify(own()) !== before && !(body.drag[0] in changes);
      if (moved) for (const name of body.drag) values[name] = [];
      for (const name of Object.keys(changes)) controls.get(name)?.show(values[name]);
      for (const act of Object.values(listeners)) act();
      soon();
    };
    const folded = Object.assign(document.createElement("details"), { innerHTML: "<summary>More settings</summary>" });
    body.sliders.forEach((slider, i) => {
      const label = Object.assign(document.createElement("label"), { title: slider.help });
      const { show: show2, parts } = control(slider, values[slider.name], (value) => set({ [slider.name]: value }));
      show2(values[slider.name]);
      label.append(...parts);
      if (slider.name === body.plays)
        player(label, slider.stops, () => values[slider.name], (value) => set({ [slider.name]: value }));
      controls.set(slider.name, { label, show: show2 });
      (i < (body.unfolded ?? Infinity) ? at("knobs") : folded).append(label);
    });
    if (folded.children.length > 1) at("knobs").append(folded);
    if (body.drag?.length) {
      const div = (className) => Object.assign(document.createElement("div"), { className });
      const row = div("grips"), root = div(scores ? "list" : "points");
      at("knobs").before(row);
      row.append(root, at("knobs"));
      const names = scores ? ["scores", "pattern"] : ["x", "y"], knob = (name) => body.drag[names.indexOf(name)];
      (scores ? strip_default : points_default).render({ el: root, model: {
        get: (name) => values[knob(name)]?.length ? values[knob(name)] : (own() ?? body.given)[name],
        set(name, value) {
          if (knob(name)) values[knob(name)] = value;
          listeners[`change:${name}`]();
        },
        on: (event, act) => listeners[event] = act,
        save_changes: soon
      } });
    }
    draw();
    return { draw, set, show };
  }
  return __toCommonJS(live_exports);
})();
