// Built from scripts/browser; edit the sources there.

// explore/store.js
var held = (name) => document.getElementById(name)?.textContent;
var about = JSON.parse(held("data"));
var FILE = "numbers.bin";
var [RIGHT, WRONG, UNKNOWN] = [0, 1, 2];
var TYPES = { I8: Int8Array, U8: Uint8Array, U16: Uint16Array, I32: Int32Array, F32: Float32Array };
function bytes(text) {
  const letters = atob(text);
  const made = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) made[i] = letters.charCodeAt(i);
  return made;
}
async function load() {
  const packed = held(FILE) ? new Blob([bytes(held(FILE))]) : await (await fetch(FILE)).blob();
  const buffer = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const runs2 = about.runs.map((told) => ({ ...told }));
  const start = 8 + Number(new BigUint64Array(buffer, 0, 1)[0]);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  for (const [path, { dtype, data_offsets: [from, to] }] of Object.entries(head)) {
    const [run2, name] = path.split(".");
    runs2[run2][name] = new TYPES[dtype](buffer, start + from, (to - from) / TYPES[dtype].BYTES_PER_ELEMENT);
  }
  return runs2.map(prepared);
}
function prepared(run2) {
  run2.row = new Int32Array(about.names.length).fill(-1);
  run2.images.forEach((image, row) => run2.row[image] = row);
  run2.sizes = new Int32Array(about.kinds.length);
  run2.labels.forEach((kind, row) => run2.sizes[kind] += isKnown(kind) ? run2.searched[row] : 0);
  run2.answer = Uint8Array.from(run2.labels, (kind, row) => {
    if (!run2.asked[row] || run2.nearest[row] < 0 || !positives(run2, row)) return UNKNOWN;
    return verdict(run2.labels[run2.nearest[row]], kind);
  });
  run2.queries = [...run2.answer.keys()].filter((row) => run2.answer[row] !== UNKNOWN);
  return run2;
}
var positives = (run2, row) => isKnown(run2.labels[row]) ? run2.sizes[run2.labels[row]] - run2.searched[row] : 0;
var isKnown = (kind) => about.kinds[kind] !== "";
var verdict = (one, other) => isKnown(one) && isKnown(other) ? one === other ? RIGHT : WRONG : UNKNOWN;
var kindName = (kind) => about.kinds[kind] || "no class";
function searcher(runs2) {
  const worker = new Worker(URL.createObjectURL(new Blob([held("worker")], { type: "text/javascript" })));
  const waiting = [];
  worker.onmessage = ({ data }) => waiting.shift()(data);
  for (const { vectors, scales, searched, similarity } of runs2) {
    const codes = vectors.slice();
    worker.postMessage({ codes, scales: scales.slice(), searched: searched.slice(), similarity }, [codes.buffer]);
  }
  return (run2, row) => new Promise((resolve) => {
    waiting.push(resolve);
    worker.postMessage({ run: runs2.indexOf(run2), row });
  });
}
var sheets = {};
function sheet(number) {
  const name = `${number}.webp`;
  return held(name) ? sheets[name] ??= URL.createObjectURL(new Blob([bytes(held(name))])) : name;
}
function picture(image, words) {
  const { grid } = about;
  const element2 = make("span", "picture", grid ? "" : "no picture");
  element2.setAttribute("role", "img");
  element2.setAttribute("aria-label", words);
  if (!grid) return element2;
  const place = image % (grid * grid);
  const share = (part) => `${100 * part / (grid - 1)}%`;
  element2.style.backgroundImage = `url("${sheet(Math.floor(image / (grid * grid)))}")`;
  element2.style.backgroundSize = `${100 * grid}%`;
  element2.style.backgroundPosition = `${share(place % grid)} ${share(Math.floor(place / grid))}`;
  return element2;
}
function make(tag, name = "", words = "") {
  return Object.assign(document.createElement(tag), { className: name, textContent: words });
}

// explore/map.js
var SPAN = 65535;
var [EDGE, REACH, LINES] = [14, 14, 10];
var SHAPES = [
  "M1 0A1 1 0 1 1 1-.01Z",
  "M-1-1L1 1M-1 1L1-1",
  "M-1-1H1V1H-1Z",
  "M0-1L1 1H-1Z",
  "M0-1V1M-1 0H1",
  "M0-1L1 0L0 1L-1 0Z"
].map((shape) => new Path2D(shape));
var ANSWERS = { [RIGHT]: "0 --right", [WRONG]: "1 --wrong", [UNKNOWN]: "2 --soft" };
var Chart = class {
  /** onQuery, onHover: called with a row; the latter with null beside all points. */
  constructor(canvas, onQuery, onHover) {
    this.canvas = canvas;
    this.view = { x: 0, y: 0, zoom: 1 };
    canvas.addEventListener("pointerdown", () => this.moved = 0);
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return onHover(this.near(event));
      this.moved += Math.hypot(event.movementX, event.movementY);
      this.view.x += event.movementX;
      this.view.y += event.movementY;
      this.draw();
    });
    canvas.addEventListener("click", (event) => {
      const row = this.moved < 5 ? this.near(event) : null;
      if (row !== null) onQuery(row);
    });
    canvas.addEventListener("pointerleave", () => onHover(null));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    });
    new ResizeObserver(() => {
      [this.wide, this.high] = [canvas.clientWidth, canvas.clientHeight];
      this.draw();
    }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
  /** By a factor around a place; 0 shows the whole map again. */
  zoom(factor, x = this.wide / 2, y = this.high / 2) {
    const zoom = Math.min(60, Math.max(1, this.view.zoom * factor));
    const change = zoom / this.view.zoom;
    this.view = { x: x + (this.view.x - x) * change, y: y + (this.view.y - y) * change, zoom };
    if (zoom === 1) this.view = { x: 0, y: 0, zoom };
    this.draw();
  }
  /** changes: run; seen, its rows that filters let through; byKind, to tell classes apart; query, and found, rows. */
  show(changes) {
    Object.assign(this, changes);
    this.draw();
  }
  /** Where each row lies on the canvas: x and y in turn. */
  laidOut() {
    const { wide, high, view } = this;
    const unit = view.zoom * (Math.min(wide, high) - 2 * EDGE) / SPAN;
    const [left, top] = [view.x + (view.zoom * wide - unit * SPAN) / 2, view.y + (view.zoom * high + unit * SPAN) / 2];
    return Float32Array.from(this.run.places, (place, i) => i % 2 ? top - unit * place : left + unit * place);
  }
  near({ offsetX, offsetY }) {
    let [best, least] = [null, REACH];
    for (const row of this.seen ?? []) {
      const distance = Math.hypot(this.at[2 * row] - offsetX, this.at[2 * row + 1] - offsetY);
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.run && this.wide && this.paint());
  }
  paint() {
    const { canvas, run: run2, seen } = this;
    [canvas.width, canvas.height] = [this.wide * devicePixelRatio, this.high * devicePixelRatio];
    const pen = canvas.getContext("2d");
    const at = this.at = this.laidOut();
    const sharp = (scale, x2, y2) => pen.setTransform(...[scale, 0, 0, scale, x2, y2].map((one) => one * devicePixelRatio));
    const style = getComputedStyle(canvas);
    const size = Math.max(1.2, Math.min(4, 160 / Math.sqrt(run2.images.length))) * Math.min(2, this.view.zoom ** 0.5);
    const all = [...run2.images.keys()];
    const groups = { "0 --line": seen.length < all.length ? all : [] };
    for (const row of seen) {
      const kind = run2.labels[row];
      const ofKind = `${(kind + Math.floor(kind / 6)) % 6} --c${kind % 6}`;
      (groups[this.byKind ? ofKind : ANSWERS[run2.answer[row]]] ??= []).push(row);
    }
    for (const [look, rows] of Object.entries(groups)) {
      const [shape, colour] = look.split(" ");
      const scale = colour === "--line" ? 1 : size;
      pen.strokeStyle = pen.fillStyle = style.getPropertyValue(colour);
      pen.lineWidth = 1.4 / scale;
      for (const row of rows) {
        sharp(scale, at[2 * row], at[2 * row + 1]);
        if (shape === "0") pen.fill(SHAPES[shape]);
        else pen.stroke(SHAPES[shape]);
      }
    }
    sharp(1, 0, 0);
    pen.strokeStyle = style.getPropertyValue("--ink");
    const [x, y] = at.subarray(2 * this.query);
    pen.lineWidth = 1.4;
    for (const row of this.found.slice(0, LINES)) {
      pen.setLineDash(run2.labels[row] === run2.labels[this.query] ? [] : [4, 4]);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(at[2 * row], at[2 * row + 1]);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, size + 6, 0, 7);
    pen.stroke();
  }
};

// explore/panels.js
var SIGNS = { [RIGHT]: "✓", [WRONG]: "✗", [UNKNOWN]: "?" };
var LOOKS = { [RIGHT]: "right", [WRONG]: "wrong", [UNKNOWN]: "unknown" };
var WORDS = { [RIGHT]: "right", [WRONG]: "wrong", [UNKNOWN]: "class not known" };
var percent = (share) => Number.isFinite(share) ? `${(100 * share).toFixed(0)} %` : "-";
function entry(look, data, ...parts) {
  const [item, button] = [make("li", look), make("button")];
  Object.assign(button.dataset, data);
  button.append(...parts.map((part) => typeof part === "string" ? make("span", "", part) : part));
  item.append(button);
  return item;
}
function card(image, kind, answer, alt, ...lines) {
  const name = make("b", "", `${SIGNS[answer]} ${kindName(kind)}`);
  return entry(LOOKS[answer], { image }, picture(image, alt), name, ...lines);
}
var scoreOf = (run2, image) => run2.row[image] < 0 ? NaN : run2.score[run2.row[image]];
function drawQuery(element2, image, runs2) {
  const name = kindName(runs2[0].labels[runs2[0].row[image]]);
  const facts = make("div");
  facts.append(make("b", "", name), make("span", "", about.names[image]));
  for (const run2 of runs2) {
    const words = run2.asked[run2.row[image]] ? `${about.column} ${percent(scoreOf(run2, image))}` : "no query of it";
    facts.append(make("span", "", `${run2.name}: ${words}`));
  }
  element2.replaceChildren(picture(image, `Query: ${name}`), facts);
}
function drawAnswer(run2, answer, other, many) {
  const { row, rows, scores } = answer;
  const kind = run2.labels[row];
  const ranks = other && new Map(Array.from(other.answer.rows, (at, rank) => [other.run.images[at], rank + 1]));
  const cardOf = (at) => {
    const answer2 = verdict(run2.labels[rows[at]], kind);
    const image = run2.images[rows[at]];
    const lines = [`${at + 1} · ${Number(scores[at].toPrecision(3))}`];
    if (ranks && ranks.get(image) !== at + 1) lines.push(`beside: ${ranks.get(image) ?? "-"}`);
    const words = `Rank ${at + 1}, ${WORDS[answer2]}: ${kindName(run2.labels[rows[at]])}`;
    return card(image, run2.labels[rows[at]], answer2, words, ...lines);
  };
  const cards = (tag, words, places2) => {
    const list = make(tag, "cards");
    list.setAttribute("aria-label", `${words} by ${run2.name}`);
    list.append(...places2.map(cardOf));
    return list;
  };
  const wanted = positives(run2, row);
  const places = [...rows.keys()];
  const missed = places.slice(wanted).filter((at) => verdict(run2.labels[rows[at]], kind) === RIGHT);
  const section = make("section", "answer");
  section.append(make("h3", "", run2.name), cards("ol", "Nearest images", places.slice(0, many)));
  if (missed.length) {
    section.append(make("h4", "", `Missed: of its class, but not among the nearest ${wanted}`));
    section.append(cards("ul", "Missed", missed.slice(0, many)));
  }
  return section;
}
function wordsOf(run2, { row, rows }) {
  const wanted = positives(run2, row);
  if (!wanted) return "No other image of its class is searched.";
  const right = (at) => run2.labels[at] === run2.labels[row];
  const found = rows.slice(0, wanted).filter(right).length;
  const first = rows.findIndex(right) + 1;
  return `Of ${wanted} images of its class, ${found} are among the nearest ${wanted}; the first is at rank ${first}.`;
}
function ordered(run2, rival2, rows, order) {
  const gain = (row) => scoreOf(rival2, run2.images[row]) - run2.score[row];
  const by = { hard: (row) => run2.score[row], gain: (row) => -gain(row), loss: gain }[order];
  const known = rows.filter((row) => run2.answer[row] !== UNKNOWN && Number.isFinite(by(row)));
  const values = known.map((row) => [by(row), row]);
  return values.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, row]) => row);
}
function queryCard(run2, rival2, row) {
  const words = `${kindName(run2.labels[row])}, nearest image ${WORDS[run2.answer[row]]}`;
  const then = rival2 ? ` → ${percent(scoreOf(rival2, run2.images[row]))}` : "";
  return card(run2.images[row], run2.labels[row], run2.answer[row], words, percent(run2.score[row]) + then);
}
function kindsOf(run2, typed = "") {
  const kinds = about.kinds.map((_, kind) => ({ kind, right: 0, all: 0 }));
  for (const row of run2.queries) {
    kinds[run2.labels[row]].all++;
    kinds[run2.labels[row]].right += run2.answer[row] === RIGHT;
  }
  const fits = ({ kind, all }) => all && kindName(kind).toLowerCase().includes(typed);
  return kinds.filter(fits).sort((a, b) => a.right / a.all - b.right / b.all || b.all - a.all);
}
function kindCard({ kind, right, all }, others) {
  const then = others?.find((one) => one.kind === kind);
  const words = `r@1 ${percent(right / all)}${then ? ` → ${percent(then.right / then.all)}` : ""} of ${all}`;
  return entry("line", { kind }, make("b", "", kindName(kind)), words);
}
function pairsOf(run2, only) {
  const found = {};
  for (const row of run2.queries.filter((row2) => run2.answer[row2] === WRONG)) {
    const [kind, taken] = [run2.labels[row], run2.labels[run2.nearest[row]]];
    if (only >= 0 && kind !== only && taken !== only) continue;
    (found[`${kind} ${taken}`] ??= { kind, taken, rows: [] }).rows.push(row);
  }
  return Object.values(found).sort((a, b) => b.rows.length - a.rows.length || a.kind - b.kind || a.taken - b.taken);
}
function pairCard(run2, { kind, taken, rows }) {
  const images = [rows[0], run2.nearest[rows[0]]].map((row) => picture(run2.images[row], kindName(run2.labels[row])));
  const words = make("b", "", `${rows.length} of ${kindName(kind)} taken for ${kindName(taken)}`);
  return entry("line", { image: run2.images[rows[0]] }, images[0], "→", images[1], words);
}

// explore/explore.js
var NUMBERS = { run: 0, rival: -1, query: -1, kind: -1 };
var START = { ...NUMBERS, show: "all", mark: "answer", order: "hard", list: "queries" };
var MANY = 24;
var element = (id) => document.getElementById(id);
var choice = (name) => document.getElementsByName(name)[0];
var runs = await load().catch((error) => {
  const words = `This page cannot be read (${error.message}). A folder needs a server: python -m http.server -d FOLDER`;
  element("message").textContent = words;
  throw error;
});
var search = searcher(runs);
var chart = new Chart(document.querySelector("#map canvas"), (row) => go({ query: run().images[row] }), hint);
var state = { ...START };
var shown = MANY;
var line = [];
var asked = 0;
var run = () => runs[state.run];
var rival = () => state.rival === state.run ? null : runs[state.rival] ?? null;
function read() {
  const made = { ...START };
  for (const [name, word] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in START)) continue;
    const [select, known] = [choice(name), { query: about.names, kind: about.kinds }[name]];
    if (select) select.value = word;
    if (known ? Number(word) in known : select.value === word) made[name] = name in NUMBERS ? Number(word) : word;
  }
  return made;
}
function go(changes) {
  state = { ...state, ...changes };
  draw();
  if (Object.keys(changes).join() !== "query") drawList();
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
    pairs: () => [pairsOf(run(), state.kind), (one) => pairCard(run(), one), "pairs of classes, the largest first"]
  }[state.list]();
  element("list-words").textContent = `${all.length.toLocaleString("en")} ${words}`;
  element("cards").replaceChildren(...all.slice(0, shown).map(made));
  element("more").hidden = all.length <= shown;
}
function hint(row) {
  const name = kindName(run().labels[row]);
  element("hint").replaceChildren(...row === null ? [] : [picture(run().images[row], name), make("span", "", name)]);
}
var WAYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
function walk(list, by) {
  const buttons = [...list?.querySelectorAll("button") ?? []];
  if (list) return buttons[buttons.indexOf(document.activeElement) + by]?.focus();
  const row = line[line.indexOf(run().row[state.query]) + by];
  if (row !== void 0) go({ query: run().images[row] });
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
