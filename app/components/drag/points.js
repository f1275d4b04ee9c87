// Stands behind a control of lab/widgets in the place of a notebook's model: what is moved is told to the server, one
// report at a time, so that a fast hand never piles up work there.
const PATIENCE = 1500; // ms after which a report counts as lost

class Model {
  constructor(values, report) {
    this.values = { ...values };
    this.report = report;
    this.listeners = new Map();
    this.count = 0;
    this.told = 0;
    this.since = 0;
  }
  get(name) { return this.values[name]; }
  on(event, act) { this.listeners.set(event, [...(this.listeners.get(event) ?? []), act]); }
  off(event, act) { this.listeners.set(event, (this.listeners.get(event) ?? []).filter((one) => one !== act)); }
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
    const { faces: _, ...values } = this.values; // pictures are not moved
    this.report({ values, count: this.count });
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
  }
}

const models = new WeakMap();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".drag");
  const known = models.get(root);
  if (known) {
    known.report = (what) => setTriggerValue("moved", what);
    known.hear(data);
    return;
  }
  const model = new Model(data.values, (what) => setTriggerValue("moved", what));
  model.count = model.told = data.heard;
  models.set(root, model);
  render({ model, el: root });
}
