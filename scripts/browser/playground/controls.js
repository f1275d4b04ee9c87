// The form: which loss, which images, what moves, and the settings of the loss as lab declares them.

import { LOSSES } from "./losses.js";

/** Settings that stand unfolded; the others are a click away. */
const FIRST = {
  contrastive: ["pos_margin", "neg_margin"],
  triplet_margin: ["margin"],
  normalized_softmax: ["temperature"],
  recall_at_k: ["tau2", "tau1", "simix"],
  smooth_ap: ["tau"],
  sup_ap: ["tau", "rho"],
  calibration: ["alpha", "beta"],
  roadmap: ["lam", "tau"],
  contextual: ["lam", "eps"],
  class_anchor_margin: ["m", "p"],
};

export class Controls {
  /**
   * @param {HTMLFormElement} form with the fields that every loss has
   * @param {object} data what lab tells: sets of images, and `knobs` of each loss
   * @param {{onLoss, onKnob, onSet, onMode, onSpace, onBatches, onRate}} handlers
   */
  constructor(form, data, handlers) {
    this.form = form;
    this.data = data;
    this.handlers = handlers;
    const field = (name) => form.elements[name];
    options(
      field("loss"),
      Object.entries(LOSSES).map(([name, { title }]) => [name, title]),
    );
    options(
      field("set"),
      Object.values(data.sets).map(({ name, title }) => [name, title]),
    );
    field("loss").addEventListener("change", (event) => handlers.onLoss(event.target.value));
    field("set").addEventListener("change", (event) => handlers.onSet(event.target.value));
    field("mode").addEventListener("change", (event) => handlers.onMode(event.target.value));
    field("space").addEventListener("change", (event) => handlers.onSpace(Number(event.target.value)));
    field("batches").addEventListener("change", (event) => handlers.onBatches(Number(event.target.value)));
    field("rate").addEventListener("input", (event) => handlers.onRate(10 ** Number(event.target.value)));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Show a state; the settings are made anew when the loss is another one. */
  show(state, set) {
    const { form } = this;
    options(form.elements.space, spaces(state, set));
    options(form.elements.mode, [["points", "the points"], ...(set.pixels ? [["encoder", "a tiny encoder"]] : [])]);
    const values = { loss: state.loss, set: state.set, mode: state.mode, space: state.d, batches: state.batches };
    for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
    form.elements.rate.value = Math.log10(state.rate);
    form.querySelector("#rate-value").textContent = short(state.rate);
    const knobs = { ...LOSSES[state.loss].knobs, ...state.knobs };
    if (this.shown !== state.loss) this.build(state.loss);
    this.shown = state.loss;
    for (const [name, { set }] of Object.entries(this.fields)) set(knobs[name]);
  }

  build(loss) {
    const declared = this.data.knobs[loss].filter(({ name }) => name in LOSSES[loss].knobs);
    const ordered = [...FIRST[loss], ...declared.map(({ name }) => name).filter((name) => !FIRST[loss].includes(name))];
    const [first, more] = ["settings", "more-settings"].map((id) => document.getElementById(id));
    first.replaceChildren();
    more.replaceChildren();
    this.fields = {};
    for (const name of ordered) {
      const knob = declared.find((one) => one.name === name);
      this.fields[name] = fieldOf(knob, (value) => this.handlers.onKnob(name, value));
      (FIRST[loss].includes(name) ? first : more).append(this.fields[name].element);
    }
    more.closest("details").hidden = !more.children.length;
  }
}

function spaces(state, set) {
  if (set.rows) return [[state.d, `${state.d} numbers, as handed over`]];
  return [
    [2, "a circle (2 numbers)"],
    [3, "a sphere (3 numbers)"],
    [8, "8 numbers, seen from the side"],
  ];
}

/** A labelled field for a setting, and how to put a value into it. */
function fieldOf(knob, onValue) {
  const element = document.createElement("div");
  element.className = "field";
  const label = element.appendChild(document.createElement("label"));
  label.htmlFor = `of-${knob.name}`;
  label.innerHTML = "<b></b> <small></small>";
  label.firstChild.textContent = knob.label;
  label.lastChild.textContent = knob.help;
  const make = knob.kind === "bool" ? tick : knob.choices ? choice : knob.kind === "lengths" ? lengths : slider;
  return { element, set: make(knob, element, onValue) };
}

function tick(knob, element, onValue) {
  const input = Object.assign(document.createElement("input"), { type: "checkbox", id: `of-${knob.name}` });
  input.addEventListener("change", () => onValue(input.checked));
  element.prepend(input);
  element.classList.add("tick");
  return (value) => (input.checked = value);
}

function choice(knob, element, onValue) {
  const select = Object.assign(document.createElement("select"), { id: `of-${knob.name}` });
  options(select, knob.choices);
  select.addEventListener("change", () => onValue(JSON.parse(select.value)));
  element.append(select);
  return (value) => (select.value = JSON.stringify(value));
}

/** Lengths of the short list, as text: "1, 2, 4"; empty for those of the paper. */
function lengths(knob, element, onValue) {
  const input = document.createElement("input");
  Object.assign(input, { type: "text", id: `of-${knob.name}`, placeholder: "those of the paper" });
  input.addEventListener("change", () => {
    const numbers = input.value.split(",").map((word) => Number(word.trim()));
    const fit = input.value.trim() && numbers.every((one) => Number.isInteger(one) && one > 0);
    input.setCustomValidity(
      fit || !input.value.trim() ? "" : "Whole numbers from 1, parted by commas, such as 1, 2, 4.",
    );
    if (input.reportValidity()) onValue(fit ? numbers : null);
  });
  element.append(input);
  return (value) => (input.value = value?.join(", ") ?? "");
}

function slider(knob, element, onValue) {
  const { low, high, log, whole } = knob;
  const position = (value) => (log ? Math.log10(value) : value);
  const input = Object.assign(document.createElement("input"), {
    type: "range",
    id: `of-${knob.name}`,
    min: position(low),
    max: position(high),
    step: whole ? 1 : (position(high) - position(low)) / 200,
  });
  const number = document.createElement("output");
  input.addEventListener("input", () => {
    const value = Number((log ? 10 ** input.value : Number(input.value)).toPrecision(3));
    number.textContent = short(value);
    onValue(value);
  });
  element.append(number, input);
  const automatic = knob.default === null ? "automatic" : "";
  return (value) => {
    input.value = position(value ?? Math.sqrt(low * high) ?? low);
    number.textContent = value === null ? automatic : short(value);
    input.setAttribute("aria-valuetext", number.textContent);
  };
}

export const short = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2))));

/** Options of a list, [value, text]; left as they are where they are the same. */
function options(select, entries) {
  const now = [...select.options].map(({ value, text }) => `${value} ${text}`).join();
  if (now === entries.map(([value, text]) => `${value} ${text}`).join()) return;
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}
