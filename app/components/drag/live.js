// Built from scripts/browser; edit the sources there.

// dashboard/model.js
var PATIENCE = 1500;
var REST = 150;
var FONT = '"Source Sans", sans-serif';
var CLEAR = "rgba(0,0,0,0)";
var Model = class {
  constructor(values) {
    this.values = { ...values };
    this.listeners = /* @__PURE__ */ new Map();
    this.count = 0;
    this.told = 0;
    this.since = 0;
  }
  get(name) {
    return this.values[name];
  }
  on(event, act) {
    this.listeners.set(event, [...this.listeners.get(event) ?? [], act]);
  }
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
};
var models = /* @__PURE__ */ new WeakMap();
var fetched = /* @__PURE__ */ new Map();
function once(address, read) {
  const text = () => fetch(new URL(address, location.origin)).then((answer) => answer.text());
  if (!fetched.has(address)) fetched.set(address, text().then(read));
  return fetched.get(address);
}
function plotlyOf(source) {
  const module = { exports: {} };
  new Function("module", "exports", "define", source).call(globalThis, module, module.exports, void 0);
  const { react } = module.exports.react ? module.exports : globalThis.Plotly;
  return { react: (spot, data, { font, ...layout }, look) => react(spot, data, { ...layout, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { ...font, family: FONT } }, look) };
}
async function compute(root, model) {
  const [code, library, form] = model.data.files;
  const [{ liveFigure, unpackedText }, plotly, packed] = await Promise.all([
    once(code, (source) => new Function(`${source}
return rankscopeLive;`)()),
    once(library, plotlyOf),
    once(form, (text) => text)
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
var component = (render) => ({ data, parentElement, setTriggerValue }) => {
  const root = parentElement.querySelector(".drag"), known = models.get(root);
  const model = known ?? new Model(data.values);
  model.report = (what) => setTriggerValue("moved", what);
  model.data = data;
  if (known) return model.hear(data);
  model.count = model.told = data.heard;
  models.set(root, model);
  render({ model, el: root });
};

// dashboard/live.js
var live_default = component(({ el, model }) => compute(el, model));
export {
  live_default as default
};
