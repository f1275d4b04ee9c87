// Figures of vectors and points in the plane.

import { lossOf } from "../../playground/losses.js";
import { normal, random } from "../../playground/random.js";
import { changed, descending, fixed, general, range } from "./words.js";

const OTHERS = [["a", 10, 1], ["b", -20, 0.8], ["c", 30, 1.2], ["t", 90, 1], ["u", -120, 0.9]];
const LETTERS = "ABCDEF";

export function vectorLengths({ length, angle }, start) {
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
    const from = (axis) => some.flatMap((one) => [0, one[axis], NaN]), texts = (list) => list.map(({ name }) => name);
    return [
      { x: from("x"), y: from("y") },
      { x: some.map(({ x }) => x), y: some.map(({ y }) => y), text: texts(some) },
      { x: shown.map(({ rank }) => rank), y: shown.map(({ way }) => way), text: texts(shown) },
    ];
  });
  return changed(start, {
    subtitle: `the stranger S is number ${place.map(([way, number]) => `<b>${number}</b> by ${way}`).join(", ")}`,
    alt:
      `A stranger of length ${general(length)} at ${general(angle)} degrees from the query: number ${place[0][1]} of ` +
      `six by cosine, ${place[1][1]} by inner product, ${place[2][1]} by distance.`,
    traces: [{}, ...traces],
  });
}

/** Anchors and points before the first step, two numbers each behind one another. */
function initial({ seed, classes, per_class: each, m, start }) {
  const draw = random(seed), normals = (count, scale) => range(2 * count).map(() => scale * normal(draw));
  const free = normals(classes, start === "origin" ? 0.05 : 1.2), points = normals(classes * each, 0.8);
  const turned = (c, of) => Math.sqrt(2) * m * of((2 * Math.PI * c) / classes);
  const circle = range(classes).flatMap((c) => [turned(c, Math.cos), turned(c, Math.sin)]);
  return { anchors: start === "circle" ? circle : free, points };
}

const axis = (places, at) => Array.from(places).filter((_, i) => i % 2 === at);

/** Where the anchors stand that nobody has dragged, as points that can be. */
export function ownAnchors(knobs) {
  const [x, y] = [0, 1].map((at) => axis(initial(knobs).anchors, at).map((one) => Number(fixed(one, 4))));
  return { x, y, classes: LETTERS.slice(0, knobs.classes), fixed: true };
}

export function anchorSandbox(knobs, start, { whole }) {
  const { step, lr, m, p, classes, per_class: each, anchors_x: x, anchors_y: y } = knobs, own = initial(knobs);
  const dragged = x.length > 0 || y.length > 0, one = `must hold one number a class, ${classes}, got`;
  if (dragged && !(x.length === classes && y.length === classes))
    return { refused: `AnchorSandbox: anchors_x and anchors_y ${one} ${x.length} and ${y.length}.` };
  const anchors = Float64Array.from(dragged ? x.flatMap((one, c) => [one, y[c]]) : own.anchors);
  const rows = Float64Array.from(own.points), n = classes * each, labels = range(n).map((i) => Math.floor(i / each));
  const off = { attractor: false, repeller: false, min_norm: false };
  const on = Object.keys(off).filter((name) => knobs[name]);
  const batch = { rows, n, d: 2, labels }, given = { weights: anchors };
  const term = (name) => lossOf("class_anchor_margin", batch, { ...off, [name]: true, m, p }, given);
  const sum = (made, name, i) => made.reduce((total, one) => total + one[name][i], 0), path = [anchors.slice()];
  for (let taken = 0; taken < step && on.length; taken++) {
    const made = on.map(term);
    anchors.forEach((_, i) => (anchors[i] -= lr * sum(made, "weights", i)));
    rows.forEach((_, i) => (rows[i] -= (lr * n * sum(made, "gradient", i)) / classes));
    path.push(anchors.slice());
  }
  const made = on.map(term), loss = made.reduce((total, { value }) => total + value, 0);
  const longest = Math.max(...made.flatMap(({ weights }) => [...weights.map(Math.abs)]), 0.01);
  const ends = (weights, at) => axis(anchors.map((one, i) => one - (1.5 * m * weights[i]) / longest), at);
  const arrows = (weights, at) => axis(anchors, at).flatMap((one, c) => [one, ends(weights, at)[c], NaN]);
  const of = (c, at) => axis(rows, at).slice(c * each, (c + 1) * each);
  const places = range(classes).map((c) => [...anchors.slice(2 * c, 2 * c + 2)]);
  const lengths = places.map(([x, y]) => Math.hypot(x, y));
  const apart = places.flatMap(([x, y], a) => places.slice(0, a).map((one) => Math.hypot(x - one[0], y - one[1])));
  const { length: last } = whole.data, names = Object.keys(off), head = last - 2 - names.length;
  return changed(whole, {
    subtitle: `step ${step}, loss <b>${fixed(loss, 3)}</b>; discs of radius m around the anchors may not overlap`,
    alt:
      `${classes} anchors and ${n} embeddings after ${step} steps. The nearest two anchors are ` +
      `${fixed(Math.min(...apart), 2)} apart, 2m is ${general(2 * m)}; the shortest anchor is ` +
      `${fixed(Math.min(...lengths), 2)} long, p is ${general(p)}.`,
    traces: [
      ...range(classes).flatMap((c) => [
        { x: of(c, 0), y: of(c, 1) },
        { x: path.map((all) => all[2 * c]), y: path.map((all) => all[2 * c + 1]) },
      ]),
      {
        of: head, x: axis(anchors, 0), y: axis(anchors, 1), text: [...LETTERS.slice(0, classes)],
        "marker.color": whole.data[head].marker.color.slice(0, classes),
      },
      ...made.map(({ weights }, i) => ({
        of: head + 1 + names.indexOf(on[i]), x: arrows(weights, 0), y: arrows(weights, 1),
        "marker.size": range(3 * classes).map((at) => (at % 3 === 1 ? 14 : 0)),
      })),
      { of: last - 1 },
    ],
    layout: {
      shapes: places.map(([x, y], c) => ({ ...whole.layout.shapes[c], x0: x - m, x1: x + m, y0: y - m, y1: y + m })),
    },
  });
}
