// What the page was given: runs with their numbers, pictures on sheets, and the worker that searches.

const held = (name) => document.getElementById(name)?.textContent;
export const about = JSON.parse(held("data"));
export const [RIGHT, WRONG, UNKNOWN] = [0, 1, 2];

const TYPES = {
  int8: Int8Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  int32: Int32Array,
  float32: Float32Array,
};

function bytes(text) {
  const letters = atob(text);
  const made = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) made[i] = letters.charCodeAt(i);
  return made;
}

/** The runs, each with its numbers by name; `row` is the row of an image in a run, -1 where it is not there. */
export async function load() {
  const packed = held("numbers") ? new Blob([bytes(held("numbers"))]) : await (await fetch("numbers.bin")).blob();
  const buffer = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const runs = about.runs.map((told) => ({ ...told }));
  for (const [path, [type, offset, count]] of Object.entries(about.arrays)) {
    const [run, name] = path.split(".");
    runs[run][name] = new TYPES[type](buffer, offset, count);
  }
  return runs.map(prepared);
}

function prepared(run) {
  const n = run.images.length;
  run.row = new Int32Array(about.names.length).fill(-1);
  run.images.forEach((image, row) => (run.row[image] = row));
  run.sizes = new Int32Array(about.kinds.length); // searched images of each class
  for (let i = 0; i < n; i++) run.sizes[run.labels[i]] += run.searched[i];
  run.answer = new Uint8Array(n).fill(UNKNOWN);
  run.queries = [];
  for (let i = 0; i < n; i++) {
    if (!run.asked[i] || run.nearest[i] < 0 || !positives(run, i)) continue;
    run.answer[i] = run.labels[run.nearest[i]] === run.labels[i] ? RIGHT : WRONG;
    run.queries.push(i);
  }
  return run;
}

/** How many images there are to be found for a query. */
export const positives = (run, row) => run.sizes[run.labels[row]] - run.searched[row];

export const kindName = (kind) => about.kinds[kind] || "no class";

/** Ask the worker for rankings; each answer is kept until another image is asked for. */
export class Search {
  constructor(runs) {
    const code = URL.createObjectURL(new Blob([held("worker")], { type: "text/javascript" }));
    this.worker = new Worker(code);
    this.waiting = [];
    this.worker.onmessage = ({ data }) => this.waiting.shift()(data);
    for (const { vectors, scales, searched, similarity } of runs) {
      this.worker.postMessage({ codes: vectors, scales, searched, similarity });
    }
  }

  ask(run, row) {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.worker.postMessage({ run, row });
    });
  }
}

const addresses = new Map();

function sheet(number) {
  if (!addresses.has(number)) {
    const text = held(`sheet${number}`);
    const blob = text && new Blob([bytes(text)], { type: "image/webp" });
    addresses.set(number, blob ? URL.createObjectURL(blob) : `${number}.webp`);
  }
  return addresses.get(number);
}

/** A picture as an element that says what it shows. */
export function picture(image, words) {
  const { grid, shown } = about.pictures;
  const element = make("span", "picture", shown ? "" : "no picture");
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", words);
  if (!shown) return element;
  const place = image % (grid * grid);
  const share = (part) => `${(100 * part) / (grid - 1)}%`;
  element.style.backgroundImage = `url("${sheet(Math.floor(image / (grid * grid)))}")`;
  element.style.backgroundSize = `${100 * grid}%`;
  element.style.backgroundPosition = `${share(place % grid)} ${share(Math.floor(place / grid))}`;
  return element;
}

/** An element with a class and words, which are never read as HTML. */
export function make(tag, name = "", words = "") {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = words;
  return element;
}
