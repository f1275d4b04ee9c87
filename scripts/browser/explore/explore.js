// The page: what is chosen stands in the address, everything else follows from it.

import { Chart } from "./map.js";
import { drawAnswer, drawQuery, kindCard, kindsOf, ordered, pairCard, pairsOf, queryCard, wordsOf } from "./panels.js";
import { about, kindName, load, make, picture, RIGHT, searcher, UNKNOWN, WRONG } from "./store.js";

const NUMBERS = { run: 0, rival: -1, query: -1, kind: -1 };
const START = { ...NUMBERS, show: "all", mark: "answer", order: "hard", list: "queries" };
const MANY = 24; // entries of a list, and of what was found for a query

const element = (id) => document.getElementById(id);
const choice = (name) => document.getElementsByName(name)[0];
const runs = await load().catch((error) => {
  const words = `This page cannot be read (${error.message}). A folder needs a server: python -m http.server -d FOLDER`;
  element("message").textContent = words;
  throw error;
});
const search = searcher(runs);
const chart = new Chart(document.querySelector("#map canvas"), (row) => go({ query: run().images[row] }), hint);
let state = { ...START };
let shown = MANY;
let line = []; // rows of the queries in their order: what arrow keys walk along
let asked = 0; // the last question to the worker; an answer to an older one comes too late

const run = () => runs[state.run];
const rival = () => (state.rival === state.run ? null : (runs[state.rival] ?? null));

/** The state of the address; what does not fit is left as the page begins. */
function read() {
  const made = { ...START };
  for (const [name, word] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in START)) continue;
    const [select, known] = [choice(name), { query: about.names, kind: about.kinds }[name]];
    if (select) select.value = word; // it takes only what it offers
    if (known ? Number(word) in known : select.value === word) made[name] = name in NUMBERS ? Number(word) : word;
  }
  return made;
}

/** Change what is chosen, and tell the address. */
function go(changes) {
  state = { ...state, ...changes };
  draw();
  if (Object.keys(changes).join() !== "query") drawList(); // a list that was walked along stays, and with it the focus
  const told = Object.entries(state).filter(([name, value]) => value !== START[name]);
  history.replaceState(null, "", `#${new URLSearchParams(told)}`);
}

function draw() {
  if (!rival() && state.order !== "hard") state.order = "hard";
  const ofKind = (row) => state.kind < 0 || run().labels[row] === state.kind;
  const wanted = { all: [RIGHT, WRONG, UNKNOWN], right: [RIGHT], wrong: [WRONG] }[state.show];
  const seen = [...run().images.keys()].filter((row) => ofKind(row) && wanted.includes(run().answer[row]));
  line = ordered(run(), rival(), seen, state.order);
  if (state.query < 0 || run().row[state.query] < 0) state.query = run().images[line[0] ?? seen[0] ?? 0];
  for (const [name, value] of Object.entries(state)) if (choice(name)) choice(name).value = value;
  for (const option of choice("rival").options) option.hidden = Number(option.value) === state.run;
  element("order").hidden = !rival();
  element("every").hidden = state.kind < 0;
  element("every").textContent = `${kindName(state.kind)} ✕`;
  chart.show({ run: run(), seen, byKind: state.mark === "kind", query: run().row[state.query], found: [] });
  tellMap();
  ask();
}

function tellMap() {
  const count = (answer) => run().answer.filter((one) => one === answer).length.toLocaleString("en");
  const others = count(UNKNOWN) === "0" ? "" : ` Squares: images that are no queries (${count(UNKNOWN)}).`;
  const dots = `Dots: the nearest image is right (${count(RIGHT)}). Crosses: it is wrong (${count(WRONG)}).${others}`;
  const key = state.mark === "kind" ? "Each class has its shape and colour; after 36 classes they come again." : dots;
  element("map-words").textContent = `${key} Drag to move, turn the wheel to zoom. ${run().map}`;
  chart.canvas.setAttribute("aria-label", `Map of ${run().name}. ${dots}`);
}

/** Let the worker rank for the query, in the run and in the one beside it. */
async function ask() {
  const [number, query] = [++asked, state.query];
  const both = [run(), rival()].filter((one) => one && one.row[query] >= 0);
  drawQuery(element("asked"), query, both);
  const pairs = await Promise.all(both.map(async (one) => ({ run: one, answer: await search(one, one.row[query]) })));
  if (number !== asked) return;
  const focused = element("answers").contains(document.activeElement);
  element("answers").replaceChildren(...pairs.map((one, at) => drawAnswer(one.run, one.answer, pairs[1 - at], MANY)));
  element("message").textContent = pairs.map((one) => `${one.run.name}: ${wordsOf(one.run, one.answer)}`).join(" ");
  if (focused) element("answers").querySelector("button")?.focus();
  chart.show({ found: pairs[0].answer.rows });
}

function drawList() {
  const typed = choice("find").value.trim().toLowerCase();
  const others = rival() && kindsOf(rival());
  const [all, made, words] = {
    queries: () => [line, (row) => queryCard(run(), rival(), row), `queries with their ${about.column}`],
    kinds: () => [kindsOf(run(), typed), (one) => kindCard(one, others), "classes, the hardest first"],
    pairs: () => [pairsOf(run(), state.kind), (one) => pairCard(run(), one), "pairs of classes, the largest first"],
  }[state.list]();
  element("list-words").textContent = `${all.length.toLocaleString("en")} ${words}`;
  element("cards").replaceChildren(...all.slice(0, shown).map(made));
  element("more").hidden = all.length <= shown;
}

/** What lies under the pointer; null for nothing. */
function hint(row) {
  const name = kindName(run().labels[row]);
  element("hint").replaceChildren(...(row === null ? [] : [picture(run().images[row], name), make("span", "", name)]));
}

const WAYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** Arrow keys move in the list that has the focus, elsewhere from query to query. */
function walk(list, by) {
  const buttons = [...(list?.querySelectorAll("button") ?? [])];
  if (list) return buttons[buttons.indexOf(document.activeElement) + by]?.focus();
  const row = line[line.indexOf(run().row[state.query]) + by];
  if (row !== undefined) go({ query: run().images[row] });
}

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const list = target.closest(".cards");
  const way = key === "ArrowLeft" || key === "ArrowRight" || list ? WAYS[key] : 0;
  if (target.name === "find" && key === "Enter") document.querySelector("#cards [data-kind]")?.click();
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select")) return;
  if (way || key === "/") event.preventDefault();
  if (way) walk(list, way);
  else if (key === "/") choice("find").focus();
});

document.addEventListener("click", ({ target }) => {
  const { image, kind, zoom } = target.closest("button")?.dataset ?? {};
  if (image) go({ query: Number(image) });
  if (kind) choose(Number(kind));
  if (zoom) chart.zoom(Number(zoom));
});

/** Only this class, and the first query of it; -1 for every class. */
function choose(kind) {
  choice("find").value = "";
  shown = MANY;
  go(kind < 0 ? { kind } : { kind, list: "queries", query: -1 });
}

document.addEventListener("input", ({ target: { name, value } }) => {
  shown = MANY;
  go(name === "find" ? { list: "kinds" } : { [name]: name in NUMBERS ? Number(value) : value });
});
element("more").addEventListener("click", () => {
  shown += MANY;
  drawList();
});
element("beside").hidden = runs.length < 2;
choice("rival").append(new Option("no other run", -1));
for (const name of ["run", "rival"]) choice(name).append(...runs.map((one, at) => new Option(one.name, at)));
addEventListener("hashchange", () => go(read()));
go(read());
