// Stands behind a control of lab/widgets or a figure that the browser computes, in the place of a notebook's model:
// what is moved is told to the server, one report at a time, so that a fast hand never piles up work there.
const PATIENCE = 1500, REST = 150; // ms after which a report counts as lost, and a hand rests
const FONT = '"Source Sans", sans-serif', CLEAR = "rgba(0,0,0,0)";

class Model {
  constructor(values) {
    this.values = { ...values };
    this.listeners = new Map();
    this.count = 0;
    this.told = 0;
    this.since = 0;
  }
  get(name) { return this.values[name]; }
  on(event, act) { this.listeners.set(event, [...(this.listeners.get(event) ?? []), act]); }
  set(name, value) {
    this.values[name] = value;
    for (const act of this.listeners.get(`change:${name}`) ?? []) act();
  }
  save_changes() {
    this.count += 1;
    this.tell();
  }
  tell() {
    const waiting = this.since && performance.now() - this.since < PATIENCE;
    if (waiting || this.told === this.count) return;
    this.told = this.count;
    this.since = performance.now();
    this.report({ values: { ...this.values }, count: this.count });
  }
  // What the server shows by now. Its values count only when it has heard everything that was moved here.
  hear({ values, heard }) {
    if (heard < this.told) return;
    this.since = 0;
    if (heard > this.count) this.count = this.told = heard;
    if (this.told < this.count) return this.tell();
    for (const [name, value] of Object.entries(values)) {
      if (JSON.stringify(value) !== JSON.stringify(this.values[name])) this.set(name, value);
    }
    this.heard?.();
  }
}

const models = new WeakMap(), fetched = new Map();

/** What is long is fetched once, whatever the page draws anew. */
function once(address, read) {
  const text = () => fetch(new URL(address, location.origin)).then((answer) => answer.text());
  if (!fetched.has(address)) fetched.set(address, text().then(read));
  return fetched.get(address);
}

/** plotly.js, which draws on the page's ground. */
function plotlyOf(source) {
  const module = { exports: {} };
  new Function("module", "exports", "define", source).call(globalThis, module, module.exports, undefined);
  const { react } = module.exports.react ? module.exports : globalThis.Plotly;
  return { react: (spot, data, { font, ...layout }, look) =>
    react(spot, data, { ...layout, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { ...font, family: FONT } }, look) };
}

/** A figure drawn by lab/figures/live.js. The server hears of its knobs, and draws what the page does not know. */
export async function compute(root, model) {
  const [code, library, form] = model.data.files;
  const [{ liveFigure, unpackedText }, plotly, packed] = await Promise.all([
    once(code, (source) => new Function(`${source}\nreturn rankscopeLive;`)()),
    once(library, plotlyOf),
    once(form, (text) => text),
  ]);
  root.classList.add("lab-live");
  const body = { ...JSON.parse(await unpackedText(packed)), knobs: model.values };
  let timer = 0;
  const live = liveFigure(root, body, plotly, () => model.data.dark, (values) => {
    if (JSON.stringify(values) === JSON.stringify(model.values)) return;
    model.values = { ...values };
    model.count += 1;
    clearTimeout(timer);
    timer = setTimeout(() => model.tell(), REST);
  });
  model.heard = () => {
    live.set(model.values);
    live.show(model.data.picture, model.data.values);
  };
  model.heard();
  new ResizeObserver(live.draw).observe(root.querySelector(".knobs"));
}

/** What Streamlit calls to draw a control with `render`. */
export const component = (render) => ({ data, parentElement, setTriggerValue }) => {
  const root = parentElement.querySelector(".drag"), known = models.get(root);
  const model = known ?? new Model(data.values);
  model.report = (what) => setTriggerValue("moved", what);
  model.data = data;
  if (known) return model.hear(data);
  model.count = model.told = data.heard;
  models.set(root, model);
  render({ model, el: root });
};
