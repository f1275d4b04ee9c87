// Figures of one ranked list, of several, and of what is counted in them.

import { normal, random } from "../../playground/random.js";
import { averagePrecision, bound8, largestBound9, mean, softRanks } from "../../playground/ranking.js";
import { heaviside, hMinus, sigmaSlope, sigmoid } from "../../playground/surrogates.js";
import { BLACK, BLUE, RIGHT, VERMILLION, WRONG, badge, changed, descending } from "./words.js";
import { fixed, general, quoted, range, signed } from "./words.js";

/** Which items of a pattern are relevant, and how many; or why Python would refuse it. */
function read({ scores, pattern }) {
  const relevant = [...pattern].map((sign) => sign === "+");
  const hold = "must hold one + (same label) or - (other label) per score", got = `got ${quoted(pattern)}.`;
  const n = scores.length, known = !/[^+-]/.test(pattern) && relevant.length === n;
  if (!known) return { refused: `pattern ${hold}, ${n} in all, ${got}` };
  const needs = `pattern needs at least one +, the query has nothing to find otherwise; ${got}`;
  if (!relevant.includes(true)) return { refused: needs };
  return { relevant, count: relevant.filter(Boolean).length };
}

/** Name and picture of each item; no pictures for a list that has more of a sign than there are. */
function called(relevant, faces) {
  const before = relevant.map((mine, i) => relevant.slice(0, i).filter((other) => other === mine).length);
  const found = relevant.map((mine, i) => faces[mine ? "+" : "-"][before[i]]);
  return found.every(Boolean) ? found : relevant.map((mine, i) => [`${mine ? "P" : "N"}${before[i] + 1}`]);
}

/** What changes in the panel of a list: its two traces, its arrows and pictures, and its axes. */
function strip({ scores }, relevant, push, named, start) {
  const order = descending(scores), n = scores.length, place = [];
  order.forEach((item, i) => (place[item] = i + 1));
  const low = Math.min(...scores), high = Math.max(...scores), spread = Math.max(high - low, 0.02);
  const ends = [low - 0.3 * spread, high + 0.3 * spread], withFaces = named[0].length > 1;
  const traces = [true, false].map((kind, i) => {
    const mine = range(n).filter((item) => relevant[item] === kind), of = (values) => mine.map((item) => values[item]);
    const ring = withFaces ? {} : { "marker.symbol": ["circle", "x"][i], "marker.size": 13 };
    return { x: of(scores), y: of(place), text: of(named).map(([name]) => name), customdata: of(push), ...ring };
  });
  const largest = Math.max(...push.map(Math.abs));
  const felt = range(n).filter((item) => largest > 0 && Math.abs(push[item]) >= 0.004 * largest);
  const arrows = felt.map((item) => ({
    ...start.layout.annotations[2],
    x: scores[item] + (0.22 * spread * push[item]) / largest, y: place[item], ax: scores[item], ay: place[item],
    arrowcolor: push[item] > 0 === relevant[item] ? BLUE : VERMILLION,
  }));
  const look = { ...start.layout.images[0], sizex: 0.1 * (ends[1] - ends[0]) };
  const laid = ([, source], item) => ({ ...look, source, x: scores[item], y: place[item] });
  const layout = {
    images: withFaces ? named.map(laid) : undefined,
    "xaxis.range": ends,
    "yaxis.range": [n + 0.8, 0.3],
    "yaxis.tickvals": range(n, 1),
    "yaxis.ticktext": order.map((item, i) => `${named[item][0]} ${relevant[item] ? RIGHT : WRONG} ${i + 1}`),
  };
  return { traces, arrows, layout };
}

export function recallStrip(knobs, start, { faces }) {
  const { scores, k, tau1, tau2, divide_by_k, clip } = knobs, { relevant, count, refused } = read(knobs);
  if (refused) return { refused };
  const items = range(scores.length), named = called(relevant, faces), mine = items.filter((x) => relevant[x]);
  const ranking = sigmoid(tau2), counting = sigmoid(tau1), divisor = divide_by_k ? Math.min(k, count) : count;
  const soft = softRanks(items, scores, ranking), rank = softRanks(items, scores, heaviside());
  const credit = soft.map((one) => counting.value(k - one)), within = mine.reduce((sum, x) => sum + credit[x], 0);
  const push = scores.map(() => 0);
  for (const x of mine.filter(() => !clip || within <= k)) {
    const weight = sigmaSlope((k - soft[x]) / tau1) / tau1 / divisor;
    for (const z of items.filter((one) => one !== x)) {
      const slope = weight * ranking.slope(scores[z] - scores[x]);
      push[z] -= slope;
      push[x] += slope;
    }
  }
  const hits = mine.filter((x) => rank[x] <= k).length, hit = hits > 0 ? 1 : 0, recall = fixed(hits / count, 3);
  const target = Math.min((hits / count) * count, k) / divisor;
  const value = (clip ? Math.min(within, k) : within) / divisor;
  const surrogate = fixed(value, 3), off = signed(value - target, 3);
  const order = [...mine].sort((a, b) => rank[a] - rank[b]), x = order.map((item) => named[item][0]);
  const sizes = push.map(Math.abs);
  const bars = [order.map((item) => (rank[item] <= k ? 1 : 0) / divisor), order.map((item) => credit[item] / divisor)];
  const { traces, arrows, layout } = strip(knobs, relevant, push, named, start);
  const [first, second] = start.layout.annotations;
  const told = changed(start, {
    subtitle:
      `recall@${k} = ${recall} · hit rate r@${k} = ${hit} · trained target ${fixed(target, 3)} · ` +
      `<b>rs@${k} = ${surrogate}</b>, ${off} from its target`,
    alt:
      `A list of ${scores.length} items, ${count} positive. recall@${k} is ${recall}, the hit rate ${hit}, the ` +
      `surrogate ${surrogate}, ${off} from what it stands for; the strongest push is on ` +
      `${named[sizes.findIndex((one) => one >= (1 - 1e-9) * Math.max(...sizes))][0]}.`, // the first of equals
    traces: [...traces, ...bars.map((y) => ({ x, y, text: y.map((one) => fixed(one, 2)) }))],
    layout: {
      ...layout,
      annotations: [first, { ...second, text: `what each positive adds to rs@${k}` }, ...arrows],
      "yaxis2.title.text": `share of rs@${k}`,
    },
  });
  return { ...told, idle: [...(within > k ? [] : ["clip"]), ...(k >= count ? ["divide_by_k"] : [])] };
}

const LOSSES = { ap: "1 - AP", smooth_ap: "SmoothAP", sup_ap: "SupAP" };

/** 1 - average precision of a list by a step among the relevant and one for the rest; and minus its gradient. */
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

export function apStrip(knobs, start, { faces }) {
  const { scores, loss, tau, rho, delta } = knobs, { relevant, refused } = read(knobs);
  if (refused) return { refused };
  const step = heaviside(), smooth = sigmoid(tau);
  const pairs = [[step, step], [smooth, smooth], [step, hMinus({ tau, rho, delta })]];
  const all = pairs.map((two) => smoothPrecision(scores, relevant, ...two));
  const values = all.map((one) => one.loss), texts = values.map((value) => fixed(value, 3));
  const { push } = all[Object.keys(LOSSES).indexOf(loss)], bounds = values.map((value) => value >= values[0] - 1e-12);
  const names = Object.values(LOSSES);
  const badges = [1, 2].map((i) => badge(bounds[i], `${names[i]} ${bounds[i] ? "bounds" : "is below"} 1 - AP here`));
  const wrong = push.filter((one, item) => (relevant[item] ? one < -1e-9 : one > 1e-9)).length;
  const { traces, arrows, layout } = strip(knobs, relevant, push, called(relevant, faces), start);
  const [first, second] = start.layout.annotations;
  return changed(start, {
    subtitle: badges.join(" · "),
    alt:
      `A list of ${push.length} items. 1 - AP is ${texts[0]}, SmoothAP ${texts[1]}, SupAP ${texts[2]}; ${loss} ` +
      `pushes ${wrong} items the wrong way.`,
    traces: [
      ...traces,
      {
        y: values, text: texts,
        "marker.color": [BLACK, ...bounds.slice(1).map((holds) => (holds ? BLUE : VERMILLION))],
        "marker.pattern.shape": ["", ...bounds.slice(1).map((holds) => (holds ? "" : "/"))],
      },
    ],
    layout: {
      ...layout,
      annotations: [{ ...first, text: `the list, and the push of ${LOSSES[loss]}` }, second, ...arrows],
      shapes: start.layout.shapes.map((line) => ({ ...line, y0: values[0], y1: values[0] })),
    },
  });
}

export function twoBatches({ shift, scale, lam, batches, positives, negatives, alpha, beta }, start) {
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
    subtitle:
      `mean AP of the batches ${fixed(mean(inside), 3)} · AP of all <b>${overall}</b> · decomposability gap ` +
      `<b>${gap}</b>, at most ${bound} (eq. 8)`,
    alt:
      `${batches} batches with AP ${inside.map((one) => fixed(one, 2)).join(", ")}; merged, AP is ${overall}: a ` +
      `decomposability gap of ${gap}, bounded by ${bound}.`,
    traces: [
      ...[true, false].map((wanted) => ({
        x: lists.flatMap((list, row) => list.filter((_, i) => marks[row][i] === wanted)),
        y: rows.flatMap((name, row) => marks[row].filter((mine) => mine === wanted).map(() => name)),
      })),
      {
        x: all, y: rows, text: all.map((one, i) => `${perfect[i] ? RIGHT : WRONG} ${fixed(one, 3)}`),
        "marker.color": perfect.map((ok) => (ok ? BLUE : VERMILLION)),
        "marker.pattern.shape": perfect.map((ok) => (ok ? "" : "/")),
      },
    ],
    layout: {
      height: 240 + 60 * rows.length,
      annotations: annotations.map((one, i) => (i < 2 ? one : { ...one, x: limits[i - 2] })),
      shapes: shapes.map((line, i) => ({ ...line, x0: limits[i], x1: limits[i] })),
    },
  });
}

export function gapBounds({ batches, alpha, beta, noise, positives, negatives, splits, seed }, start) {
  const relevant = range(positives + negatives).map((i) => i < positives), sizes = range(batches, 1);
  const gaps = [], refined = [];
  for (const count of sizes) {
    const draw = random(seed + 1000 * count);
    const drawn = range(splits).map(() => {
      const lists = range(count).map(() => {
        const level = noise * normal(draw), positive = range(positives).map(() => 1 - 0.15 * draw() + level);
        const lowest = Math.min(...positive) - 0.02;
        return [...positive, ...range(negatives).map(() => lowest - 0.6 * draw())];
      });
      const seen = (test) => lists.map((list) => list.filter((score, i) => test(score, relevant[i])).length);
      const good = seen((score, mine) => mine && score >= alpha), bad = good.map((one) => positives - one);
      const loud = seen((score, mine) => !mine && score > beta), others = loud.map(() => negatives);
      const gap = 1 - averagePrecision(lists.flat(), lists.flatMap(() => relevant));
      return { gap, refined: largestBound9(good, bad, loud, others) };
    });
    gaps.push(drawn.map(({ gap }) => gap));
    refined.push(mean(drawn.map((one) => one.refined)));
  }
  const bound = sizes.map((n) => bound8(range(n).map(() => positives), range(n).map(() => negatives)));
  const [low, high] = [Math.min, Math.max].map((end) => gaps.map((row) => end(...row))), middle = gaps.map(mean);
  const [gap, plain, fine] = [middle, bound, refined].map((values) => values.at(-1));
  return changed(start, {
    subtitle: `every batch alone has AP 1; with ${batches} of them the whole list has ${fixed(1 - gap, 3)}`,
    alt:
      `Gap and bounds for up to ${batches} perfectly ranked batches. At the right end the gap is ${fixed(gap, 3)}, ` +
      `equation 8 allows ${fixed(plain, 3)}, equation 9 ${fixed(fine, 3)}.`,
    traces: [
      { x: [...sizes, ...sizes.toReversed()], y: [...high, ...low.toReversed()] },
      ...[middle, bound, refined].map((y) => ({ x: sizes, y })),
    ],
  });
}

export function precisionCounter({ pattern, missing }, start) {
  if (/[^+-]/.test(pattern) || !pattern.includes("+"))
    return { refused: `PrecisionCounter: pattern must hold + and - with at least one +, got ${quoted(pattern)}.` };
  const hits = [...pattern].map((sign) => sign === "+"), ranks = range(hits.length, 1);
  let seen = 0;
  const precision = ranks.map((rank) => (seen += hits[rank - 1] ? 1 : 0) / rank), total = seen + missing;
  const sum = (values) => values.reduce((all, one) => all + one, 0) / total;
  const found = ranks.filter((rank) => hits[rank - 1]), within = found.filter((rank) => rank <= total);
  const at = (places) => places.map((rank) => precision[rank - 1]);
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
      "xaxis.range": [0.4, Math.max(hits.length, total) + 0.8],
    },
  });
}

export function retrievalProtocols(knobs, start, { vectors, names, pictures }) {
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
  const hitRate = fixed(mean(top.map((one) => (one ? 1 : 0))), 3);
  const recall = fixed(mean(top.map((one, i) => one / count(hits[i]))), 3);
  const cell = (y) => (item, x) => ({ x, y, item, own: item === queries[y], hit: hits[y][x] });
  const table = order.map((row, y) => row.map(cell(y))), cells = table.flat();
  const mark = ({ own, hit }) => (own ? "self" : hit ? RIGHT : WRONG), columns = order[0].length;
  const rows = (of) => table.map((row) => row.map(of));
  const laid = (item, x, y) => ({ ...start.layout.images[0], source: pictures[item], x, y });
  const { annotations: [note], shapes: [line, frame] } = start.layout, edge = k + 0.5;
  const told = changed(start, {
    subtitle:
      `r@${k}, at least one hit: <b>${hitRate}</b> · recall@${k}, share of the positives: <b>${recall}</b> · framed: ` +
      `${names[queries[query]]} finds ${found} of ${positives} by rank ${k}, so r@${k} = ${found > 0 ? 1 : 0} and ` +
      `recall@${k} = ${fixed(found / Math.max(1, positives), 2)}`,
    alt:
      `Ranked lists of ${queries.length} queries. r@${k} is ${hitRate}, recall@${k} ${recall}; a query is ` +
      `${cells.some(({ own }) => own) ? "" : "never "}ranked in its own list. ` +
      `${names[queries[query]]} finds ${found} of its ${positives} positives.`,
    traces: [
      {
        x: range(columns, 1), z: rows(({ own, hit }) => (own ? 1 : hit ? 2 : 0)), text: rows(mark),
        customdata: rows(({ item }) => names[item]),
      },
      { x: cells.map(({ x }) => x + 1.32), y: cells.map(({ y }) => y), text: cells.map(mark) },
    ],
    layout: {
      height: 220 + 42 * queries.length,
      images: [...cells.map(({ item, x, y }) => laid(item, x + 0.85, y)), ...queries.map((q, y) => laid(q, 0, y))],
      annotations: [{ ...note, text: `k = ${k}`, x: edge }],
      shapes: [{ ...line, x0: edge, x1: edge }, { ...frame, x1: columns + 0.5, y0: query - 0.5, y1: query + 0.5 }],
      "xaxis.tickvals": range(columns, 1),
      "yaxis.range": [queries.length - 0.5, -0.5],
      "yaxis.tickvals": range(queries.length),
      "yaxis.ticktext": queries.map((item) => names[item]),
    },
  });
  const clicked = (x, y) => ({ query: Math.round(y), k: Math.min(Math.max(Math.round(x), 1), 12) });
  return { ...told, idle: same_source ? [] : ["exclude_self"], clicked };
}
