// What stands beside the map: what each run finds for the query, and lists of queries, classes and confused classes.

import { about, kindName, make, picture, positives, RIGHT, UNKNOWN, verdict, WRONG } from "./store.js";

const SIGNS = { [RIGHT]: "✓", [WRONG]: "✗", [UNKNOWN]: "?" };
const LOOKS = { [RIGHT]: "right", [WRONG]: "wrong", [UNKNOWN]: "unknown" };
const WORDS = { [RIGHT]: "right", [WRONG]: "wrong", [UNKNOWN]: "class not known" };

const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(0)} %` : "-");

/** An entry of a list: a button, whose data say what a click means. look: right, wrong, unknown, or line, which is wide. */
function entry(look, data, ...parts) {
  const [item, button] = [make("li", look), make("button")];
  Object.assign(button.dataset, data);
  button.append(...parts.map((part) => (typeof part === "string" ? make("span", "", part) : part)));
  item.append(button);
  return item;
}

/** answer: RIGHT, WRONG or UNKNOWN. */
function card(image, kind, answer, alt, ...lines) {
  const name = make("b", "", `${SIGNS[answer]} ${kindName(kind)}`);
  return entry(LOOKS[answer], { image }, picture(image, alt), name, ...lines);
}

const scoreOf = (run, image) => (run.row[image] < 0 ? NaN : run.score[run.row[image]]);

/** The image that is asked with: what it is, and how it does in the runs. */
export function drawQuery(element, image, runs) {
  const name = kindName(runs[0].labels[runs[0].row[image]]);
  const facts = make("div");
  facts.append(make("b", "", name), make("span", "", about.names[image]));
  for (const run of runs) {
    const words = run.asked[run.row[image]] ? `${about.column} ${percent(scoreOf(run, image))}` : "no query of it";
    facts.append(make("span", "", `${run.name}: ${words}`));
  }
  element.replaceChildren(picture(image, `Query: ${name}`), facts);
}

/** How a run answers: its nearest images, and those of the class that come too late. other: the answer beside it. */
export function drawAnswer(run, answer, other, many) {
  const { row, rows, scores } = answer;
  const kind = run.labels[row];
  const ranks = other && new Map(Array.from(other.answer.rows, (at, rank) => [other.run.images[at], rank + 1]));
  const cardOf = (at) => {
    const answer = verdict(run.labels[rows[at]], kind);
    const image = run.images[rows[at]];
    const lines = [`${at + 1} · ${Number(scores[at].toPrecision(3))}`];
    if (ranks && ranks.get(image) !== at + 1) lines.push(`beside: ${ranks.get(image) ?? "-"}`);
    const words = `Rank ${at + 1}, ${WORDS[answer]}: ${kindName(run.labels[rows[at]])}`;
    return card(image, run.labels[rows[at]], answer, words, ...lines);
  };
  const cards = (tag, words, places) => {
    const list = make(tag, "cards");
    list.setAttribute("aria-label", `${words} by ${run.name}`);
    list.append(...places.map(cardOf));
    return list;
  };
  const wanted = positives(run, row);
  const places = [...rows.keys()];
  const missed = places.slice(wanted).filter((at) => verdict(run.labels[rows[at]], kind) === RIGHT);
  const section = make("section", "answer");
  section.append(make("h3", "", run.name), cards("ol", "Nearest images", places.slice(0, many)));
  if (missed.length) {
    section.append(make("h4", "", `Missed: of its class, but not among the nearest ${wanted}`));
    section.append(cards("ul", "Missed", missed.slice(0, many)));
  }
  return section;
}

/** In a sentence: how many of the images of its class are found. */
export function wordsOf(run, { row, rows }) {
  const wanted = positives(run, row);
  if (!wanted) return "No other image of its class is searched.";
  const right = (at) => run.labels[at] === run.labels[row];
  const found = rows.slice(0, wanted).filter(right).length;
  const first = rows.findIndex(right) + 1;
  return `Of ${wanted} images of its class, ${found} are among the nearest ${wanted}; the first is at rank ${first}.`;
}

/** Rows of queries, hardest first; by gain or loss those first that change most from the run to the one beside it. */
export function ordered(run, rival, rows, order) {
  const gain = (row) => scoreOf(rival, run.images[row]) - run.score[row];
  const by = { hard: (row) => run.score[row], gain: (row) => -gain(row), loss: gain }[order];
  const known = rows.filter((row) => run.answer[row] !== UNKNOWN && Number.isFinite(by(row)));
  const values = known.map((row) => [by(row), row]);
  return values.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, row]) => row);
}

export function queryCard(run, rival, row) {
  const words = `${kindName(run.labels[row])}, nearest image ${WORDS[run.answer[row]]}`;
  const then = rival ? ` → ${percent(scoreOf(rival, run.images[row]))}` : "";
  return card(run.images[row], run.labels[row], run.answer[row], words, percent(run.score[row]) + then);
}

/** Classes of a name, and of how many of their queries the nearest image is right; the hardest first. */
export function kindsOf(run, typed = "") {
  const kinds = about.kinds.map((_, kind) => ({ kind, right: 0, all: 0 }));
  for (const row of run.queries) {
    kinds[run.labels[row]].all++;
    kinds[run.labels[row]].right += run.answer[row] === RIGHT;
  }
  const fits = ({ kind, all }) => all && kindName(kind).toLowerCase().includes(typed);
  return kinds.filter(fits).sort((a, b) => a.right / a.all - b.right / b.all || b.all - a.all);
}

export function kindCard({ kind, right, all }, others) {
  const then = others?.find((one) => one.kind === kind);
  const words = `r@1 ${percent(right / all)}${then ? ` → ${percent(then.right / then.all)}` : ""} of ${all}`;
  return entry("line", { kind }, make("b", "", kindName(kind)), words);
}

/** Pairs of classes: queries of one whose nearest image is of the other, most first; only of a class, or -1. */
export function pairsOf(run, only) {
  const found = {};
  for (const row of run.queries.filter((row) => run.answer[row] === WRONG)) {
    const [kind, taken] = [run.labels[row], run.labels[run.nearest[row]]];
    if (only >= 0 && kind !== only && taken !== only) continue;
    (found[`${kind} ${taken}`] ??= { kind, taken, rows: [] }).rows.push(row);
  }
  return Object.values(found).sort((a, b) => b.rows.length - a.rows.length || a.kind - b.kind || a.taken - b.taken);
}

export function pairCard(run, { kind, taken, rows }) {
  const images = [rows[0], run.nearest[rows[0]]].map((row) => picture(run.images[row], kindName(run.labels[row])));
  const words = make("b", "", `${rows.length} of ${kindName(kind)} taken for ${kindName(taken)}`);
  return entry("line", { image: run.images[rows[0]] }, images[0], "→", images[1], words);
}
