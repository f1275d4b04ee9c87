// The page: what is chosen stands in the address, everything else follows from it.

import { Chart } from "./map.js";
import { drawAnswer, drawQuery, kindCard, kindsOf, ordered, pairCard, pairsOf, queryCard, wordsOf } from "./js";
import { about, kindName, load, make, picture, RIGHT, Search, WRONG } from "./store.js";

const START = { run: 0, rival: -1, query: -1, kind: -1, show: "all", mark: "answer", order: "hard", list: "queries" };
const PAGE = { queries: 24, kinds: 60, pairs: 30 };
const ANSWERS = 24;

const element = (id) => document.getElementById(id);
const form = element("choices");
const runs = await load();
const search = new Search(runs);
const chart = new Chart(document.querySelector("#map canvas"), (row) => go({ query: run().images[row] }), hint);
let state = { ...START };
let shown = PAGE.queries;
let line = []; // rows of the queries in their order: what arrow keys walk along
let asked = 0; // the last question to the worker; an answer to an older one comes too late

const run = () => runs[state.run];
const rival = () => runs[state.rival] ?? null;

/** The state of the address; what does not fit is left at its beginning. */
function read() {
  const words = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const numbers = { run: runs.length, rival: runs.length, query: about.names.length, kind: about.kinds.length };
  const read = { ...START };
  for (const [name, end] of Object.entries(numbers)) {
    const number = Number(words[name] ?? NaN);
    if (Number.isInteger(number) && number >= 0 && number < end) read[name] = number;
  }
  for (const name of ["show", "mark", "order"]) {
    if ([...form.elements[name].options].some(({ value }) => value === words[name])) read[name] = words[name];
  }
  if (words.list in PAGE) read.list = words.list;
  return read;
}

/** Change what is chosen, and tell the address. */
function go(changes) {
  state = { ...state, ...changes };
  const told = Object.entries(state).filter(([name, value]) => value !== START[name]);
  history.replaceState(null, "", `#${new URLSearchParams(told)}`);
  draw(changes);
}

function draw(changes = state) {
  if (state.rival === state.run) state.rival = -1;
  if (!rival() && ["gain", "loss"].includes(state.order)) state.order = "hard";
  const wanted = { all: [RIGHT, WRONG], right: [RIGHT], wrong: [WRONG] }[state.show];
  const ofKind = (row) => state.kind < 0 || run().labels[row] === state.kind;
  const queries = run().queries.filter((row) => ofKind(row) && wanted.includes(run().answer[row]));
  line = ordered(run(), rival(), queries, state.order);
  if (state.query < 0 || run().row[state.query] < 0) {
    state.query = run().images[line[0] ?? run().queries[0] ?? 0];
    changes = state;
  }
  for (const name of ["run", "rival", "show", "mark", "order"]) form.elements[name].value = state[name];
  for (const option of form.elements.rival.options) option.hidden = Number(option.value) === state.run;
  for (const option of [...form.elements.order.options].slice(2)) option.hidden = !rival();
  element("every").hidden = state.kind < 0;
  element("every").textContent = `${kindName(state.kind)} ✕`;
  element("every").setAttribute("aria-label", `Show every class again, not only ${kindName(state.kind)}`);
  chart.show(run(), state.show === "all" ? rowsOf(run()).filter(ofKind) : queries, state.mark === "kind");
  tellMap();
  drawList();
  if (["run", "rival", "query"].some((name) => name in changes)) ask();
}

const rowsOf = (one) => Array.from(one.images.keys());

function tellMap() {
  const count = (answer) => run().queries.filter((row) => run().answer[row] === answer).length;
  const { method, agreement, chance } = run().map;
  const dots = `Dots: the nearest image is right (${count(RIGHT)}). Crosses: it is wrong (${count(WRONG)}). Squares: no queries.`;
  const kinds = "Each class has a shape and a colour, which come again after 36 classes.";
  const kept = `${Math.round(100 * agreement)} % of the neighbours on it are true ones, by chance ${(100 * chance).toFixed(1)} %`;
  element("map-words").textContent =
    `${state.mark === "kind" ? kinds : dots} Drag to move, turn the wheel to zoom. A map (${method}) is for an overview: ${kept}.`;
  chart.canvas.setAttribute("aria-label", `Map of ${run().name}. ${dots}`);
}

/** Let the worker rank for the query, in the run and in the one beside it. */
async function ask() {
  const number = ++asked;
  const both = [run(), rival()].filter((one) => one && one.row[state.query] >= 0);
  drawQuery(element("asked"), state.query, both);
  chart.mark(run().row[state.query], []);
  const answers = await Promise.all(both.map((one) => search.ask(runs.indexOf(one), one.row[state.query])));
  if (number !== asked) return;
  const pairs = both.map((one, at) => ({ run: one, answer: answers[at] }));
  element("answers").replaceChildren(
    ...pairs.map((pair, at) => drawAnswer(pair.run, pair.answer, pairs[1 - at], ANSWERS)),
  );
  element("message").textContent = pairs.map((pair) => `${pair.run.name}: ${wordsOf(pair.run, pair.answer)}`).join(" ");
  chart.mark(run().row[state.query], answers[0].rows);
}

function drawList() {
  const typed = form.elements.find.value.trim().toLowerCase();
  const fits = (kind) => kindName(kind).toLowerCase().includes(typed);
  const others = rival() && kindsOf(rival());
  const kinds = () => kindsOf(run()).filter(({ kind }) => fits(kind));
  const pairs = () => pairsOf(run()).filter(({ kind, taken }) => state.kind < 0 || [kind, taken].includes(state.kind));
  const [all, made, words] = {
    queries: () => [line, (row) => queryCard(run(), rival(), row), `queries with their ${about.column}`],
    kinds: () => [kinds(), (one) => kindCard(one, others), "classes, the hardest first"],
    pairs: () => [pairs(), (one) => pairCard(run(), one), "pairs of a query's class and its nearest image's"],
  }[state.list]();
  element("list-words").textContent = `${all.length.toLocaleString("en")} ${words}`;
  element("list").replaceChildren(...all.slice(0, shown).map(made));
  element("more").hidden = all.length <= shown;
  element("by-order").hidden = state.list !== "queries";
  for (const tab of document.querySelectorAll("[data-list]")) tab.setAttribute("aria-pressed", tab.dataset.list === state.list);
}

/** What lies under the pointer; null for nothing. */
function hint(row, event) {
  const box = element("hint");
  box.hidden = row === null;
  if (row === null) return;
  const name = kindName(run().labels[row]);
  box.replaceChildren(picture(run().images[row], name), make("span", "", name));
  box.style.left = `${Math.min(event.offsetX + 12, chart.canvas.clientWidth - 100)}px`;
  box.style.top = `${event.offsetY + 12}px`;
}

function walk(by) {
  const at = line.indexOf(run().row[state.query]);
  const row = line[Math.max(0, Math.min(line.length - 1, at + by))];
  if (row !== undefined) go({ query: run().images[row] });
}

const WAYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, summary")) return;
  const list = target.closest(".cards");
  if (key === "/") form.elements.find.focus();
  else if (list && WAYS[key]) {
    const buttons = [...list.querySelectorAll("button")];
    buttons[buttons.indexOf(target) + WAYS[key]]?.focus();
  } else if (key === "ArrowLeft" || key === "ArrowRight") walk(WAYS[key]);
  else return;
  event.preventDefault();
});

document.addEventListener("click", ({ target }) => {
  const { image, kind, list, zoom } = target.closest("button")?.dataset ?? {};
  if (image) go({ query: Number(image) });
  if (kind) choose(Number(kind));
  if (list) (shown = PAGE[list]), go({ list });
  if (zoom) chart.zoom(Number(zoom));
});

/** Only this class, and the first query of it. */
function choose(kind) {
  form.elements.find.value = "";
  shown = PAGE.queries;
  go({ kind, list: "queries", query: -1 });
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", ({ target }) => {
  const value = ["run", "rival"].includes(target.name) ? Number(target.value) : target.value;
  if (target.name !== "find") go({ [target.name]: value });
});
form.elements.find.addEventListener("input", () => ((shown = PAGE.kinds), go({ list: "kinds" })));
form.elements.find.addEventListener("keydown", ({ key }) => {
  const first = element("list").querySelector("[data-kind]");
  if (key === "Enter" && first && form.elements.find.value) choose(Number(first.dataset.kind));
});
element("every").addEventListener("click", () => go({ kind: -1 }));
element("more").addEventListener("click", () => ((shown += PAGE[state.list]), drawList()));
addEventListener("hashchange", () => ((state = read()), draw()));

element("words").textContent = `${about.words}. ${about.pictures.lacking}`;
element("rival").hidden = runs.length < 2;
form.elements.rival.append(new Option("no other run", -1));
for (const name of ["run", "rival"]) form.elements[name].append(...runs.map((one, at) => new Option(one.name, at)));
element("precision").textContent = runs
  .map(({ name, agreement: { k, first, both, of } }) => {
    const share = (part) => `${(100 * part).toFixed(1)} %`;
    return `${name}: of ${of.toLocaleString("en")} queries, ${share(first)} have the same nearest image as in float32, and
      ${share(both)} of the nearest ${k} are the same.`;
  })
  .join(" ");
element("precision").prepend("This page compares all images exactly, by vectors in 8 bits. ");
state = read();
draw();
document.body.dataset.ready = Math.round(performance.now());
