// What the page was given: runs with their numbers, pictures on sheets, and the worker that searches.

const held = (name) => document.getElementById(name)?.textContent;
export const about = JSON.parse(held("data"));
const FILE = "numbers.bin";
export const [RIGHT, WRONG, UNKNOWN] = [0, 1, 2];

const TYPES = { I8: Int8Array, U8: Uint8Array, U16: Uint16Array, I32: Int32Array, F32: Float32Array };

function bytes(text) {
  const letters = atob(text);
  const made = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) made[i] = letters.charCodeAt(i);
  return made;
}

/** The runs, each with its numbers by name, as `numbers_of` of the Python side has them: a safetensors file, gzip. */
export async function load() {
  const packed = held(FILE) ? new Blob([bytes(held(FILE))]) : await (await fetch(FILE)).blob();
  const buffer = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const runs = about.runs.map((told) => ({ ...told }));
  const start = 8 + Number(new BigUint64Array(buffer, 0, 1)[0]);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  for (const [path, { dtype, data_offsets: [from, to] }] of Object.entries(head)) {
    const [run, name] = path.split(".");
    runs[run][name] = new TYPES[dtype](buffer, start + from, (to - from) / TYPES[dtype].BYTES_PER_ELEMENT);
  }
  return runs.map(prepared);
}

/** row: of an image, -1 where the run has none; sizes: searched images of a class; answer: RIGHT, WRONG or UNKNOWN. */
function prepared(run) {
  run.row = new Int32Array(about.names.length).fill(-1);
  run.images.forEach((image, row) => (run.row[image] = row));
  run.sizes = new Int32Array(about.kinds.length);
  run.labels.forEach((kind, row) => (run.sizes[kind] += isKnown(kind) ? run.searched[row] : 0));
  run.answer = Uint8Array.from(run.labels, (kind, row) => {
    if (!run.asked[row] || run.nearest[row] < 0 || !positives(run, row)) return UNKNOWN;
    return verdict(run.labels[run.nearest[row]], kind);
  });
  run.queries = [...run.answer.keys()].filter((row) => run.answer[row] !== UNKNOWN);
  return run;
}

/** How many images there are to be found for a query. */
export const positives = (run, row) => (isKnown(run.labels[row]) ? run.sizes[run.labels[row]] - run.searched[row] : 0);

/** Whether a kind is a class; the last one is of images without a class, which make nothing right or wrong. */
export const isKnown = (kind) => about.kinds[kind] !== "";

/** RIGHT, WRONG or UNKNOWN: what two kinds say of two images. */
export const verdict = (one, other) => (isKnown(one) && isKnown(other) ? (one === other ? RIGHT : WRONG) : UNKNOWN);

export const kindName = (kind) => about.kinds[kind] || "no class";

/** A function that lets the worker rank: of a run and a row it promises rows and similarities, nearest first. */
export function searcher(runs) {
  const worker = new Worker(URL.createObjectURL(new Blob([held("worker")], { type: "text/javascript" })));
  const waiting = [];
  worker.onmessage = ({ data }) => waiting.shift()(data);
  for (const { vectors, scales, searched, similarity } of runs) {
    const codes = vectors.slice(); // a view would be sent with all that lies around it
    worker.postMessage({ codes, scales: scales.slice(), searched: searched.slice(), similarity }, [codes.buffer]);
  }
  return (run, row) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      worker.postMessage({ run: runs.indexOf(run), row });
    });
}

const sheets = {};

function sheet(number) {
  const name = `${number}.webp`; // in the page, or beside it
  return held(name) ? (sheets[name] ??= URL.createObjectURL(new Blob([bytes(held(name))]))) : name;
}

/** A picture as an element that says what it shows. */
export function picture(image, words) {
  const { grid } = about;
  const element = make("span", "picture", grid ? "" : "no picture");
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", words);
  if (!grid) return element;
  const place = image % (grid * grid);
  const share = (part) => `${(100 * part) / (grid - 1)}%`;
  element.style.backgroundImage = `url("${sheet(Math.floor(image / (grid * grid)))}")`;
  element.style.backgroundSize = `${100 * grid}%`;
  element.style.backgroundPosition = `${share(place % grid)} ${share(Math.floor(place / grid))}`;
  return element;
}

/** An element with a class and words, which are never read as HTML. */
export function make(tag, name = "", words = "") {
  return Object.assign(document.createElement(tag), { className: name, textContent: words });
}
