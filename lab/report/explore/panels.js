// What stands beside the map: what each run finds for the query, and lists of queries, classes and confused classes.

import { about, kindName, make, picture, positives, RIGHT, WRONG } from "./store.js";

const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(0)} %` : "-");

function card(image, name, lines, alt, look = "") {
  const item = make("li", look);
  const button = make("button");
  button.type = "button";
  button.dataset.image = image;
  const mark = { right: "✓ ", wrong: "✗ " }[look] ?? "";
  button.append(picture(image, alt), make("b", "", mark + name), ...lines.map((words) => make("span", "", words)));
  item.append(button);
  return item;
}

export const scoreOf = (run, image) => (run.row[image] < 0 ? NaN : run.score[run.row[image]]);

/** The image that is asked with: what it is, and how it does in the runs. */
export function drawQuery(element, image, runs) {
  const kind = runs[0].labels[runs[0].row[image]];
  const facts = make("div");
  facts.append(make("b", "", kindName(kind)), make("span", "", about.names[image]));
  for (const run of runs) {
    const known = Number.isFinite(scoreOf(run, image));
    facts.append(make("span", "", known ? `${run.name}: ${about.column} ${percent(scoreOf(run, image))}` : "not a query"));
  }
  element.replaceChildren(picture(image, `Query: ${kindName(kind)}`), facts);
}

/** How a run answers: its nearest images, and the images of the class that stand too far behind. */
export function drawAnswer(run, answer, other, many) {
  const { row, rows, scores } = answer;
  const kind = run.labels[row];
  const ranks = other && new Map(Array.from(other.answer.rows, (at, rank) => [other.run.images[at], rank + 1]));
  const section = make("section", "answer");
  section.append(make("h3", "", run.name), make("p", "told", wordsOf(run, answer)));
  const list = make("ol", "cards");
  list.setAttribute("aria-label", `Nearest images by ${run.name}`);
  for (let at = 0; at < Math.min(many, rows.length); at++) list.append(cardOf(at));
  section.append(list);
  const wanted = positives(run, row);
  const missed = [];
  for (let at = wanted; at < rows.length && missed.length < 24; at++) if (run.labels[rows[at]] === kind) missed.push(cardOf(at));
  if (missed.length) {
    const late = make("ul", "cards");
    late.setAttribute("aria-label", `Missed by ${run.name}`);
    late.append(...missed);
    section.append(make("h4", "", `Missed: of its class, but not among the nearest ${wanted}`), late);
  }
  return section;

  function cardOf(at) {
    const right = run.labels[rows[at]] === kind;
    const image = run.images[rows[at]];
    const name = kindName(run.labels[rows[at]]);
    const there = ranks && ranks.get(image) !== at + 1 ? [`there ${ranks.get(image) ?? "not searched"}`] : [];
    const words = `Rank ${at + 1}, ${right ? "right" : "wrong"}: ${name}`;
    return card(image, name, [`${at + 1} · ${scores[at].toFixed(3)}`, ...there], words, right ? "right" : "wrong");
  }
}

/** In a sentence: how many of the images of its class are found. */
export function wordsOf(run, { row, rows }) {
  const wanted = positives(run, row);
  if (!wanted) return "No other image of its class is searched.";
  let [found, first] = [0, -1];
  for (let at = 0; at < rows.length && (at < wanted || first < 0); at++) {
    if (run.labels[rows[at]] !== run.labels[row]) continue;
    if (first < 0) first = at + 1;
    if (at < wanted) found++;
  }
  return `${found} of its ${wanted} are among the nearest ${wanted}; the first is at rank ${first}.`;
}

/** Rows of queries in the order that was chosen; by gain and loss, those come first that change most beside the rival. */
export function ordered(run, rival, rows, order) {
  const gain = (row) => scoreOf(rival, run.images[row]) - run.score[row];
  const by = { hard: (row) => run.score[row], easy: (row) => -run.score[row], gain: (row) => -gain(row), loss: gain }[order];
  const known = rows.filter((row) => Number.isFinite(by(row)));
  const values = new Map(known.map((row) => [row, by(row)]));
  return known.sort((a, b) => values.get(a) - values.get(b) || a - b);
}

export function queryCard(run, rival, row) {
  const image = run.images[row];
  const name = kindName(run.labels[row]);
  const right = run.answer[row] === RIGHT;
  const score = percent(run.score[row]) + (rival ? ` → ${percent(scoreOf(rival, image))}` : "");
  return card(image, name, [score], `${name}, nearest image ${right ? "right" : "wrong"}`, right ? "right" : "wrong");
}

/** Classes with the share of their queries whose nearest image is right, lowest first. */
export function kindsOf(run) {
  const [right, all] = [new Int32Array(about.kinds.length), new Int32Array(about.kinds.length)];
  for (const row of run.queries) {
    all[run.labels[row]]++;
    right[run.labels[row]] += run.answer[row] === RIGHT;
  }
  const kinds = about.kinds.map((_, kind) => ({ kind, share: right[kind] / all[kind], all: all[kind] }));
  return kinds.filter(({ all }) => all).sort((a, b) => a.share - b.share || b.all - a.all);
}

export function kindCard({ kind, share, all }, others) {
  const then = others && others.find((one) => one.kind === kind);
  const item = make("li", "line");
  const button = make("button");
  button.type = "button";
  button.dataset.kind = kind;
  button.append(make("b", "", kindName(kind)), bar(share));
  button.append(make("span", "", `r@1 ${percent(share)}${then ? ` → ${percent(then.share)}` : ""} of ${all}`));
  item.append(button);
  return item;
}

/** Pairs of classes: queries of one whose nearest image is of the other, most first. */
export function pairsOf(run) {
  const found = new Map();
  for (const row of run.queries) {
    if (run.answer[row] !== WRONG) continue;
    const key = `${run.labels[row]} ${run.labels[run.nearest[row]]}`;
    if (!found.has(key)) found.set(key, { kind: run.labels[row], taken: run.labels[run.nearest[row]], rows: [] });
    found.get(key).rows.push(row);
  }
  return [...found.values()].sort((a, b) => b.rows.length - a.rows.length || a.kind - b.kind || a.taken - b.taken);
}

export function pairCard(run, { kind, taken, rows }) {
  const item = make("li", "line");
  const button = make("button");
  button.type = "button";
  button.dataset.image = run.images[rows[0]];
  const images = [rows[0], run.nearest[rows[0]]].map((row) => picture(run.images[row], kindName(run.labels[row])));
  const words = `${rows.length} of ${kindName(kind)}`;
  button.append(images[0], make("span", "", "→"), images[1], make("b", "", `${words} taken for ${kindName(taken)}`));
  item.append(button);
  return item;
}

function bar(share) {
  const element = make("span", "bar");
  element.setAttribute("aria-hidden", "true");
  element.append(make("i"));
  element.firstChild.style.width = percent(share);
  return element;
}
