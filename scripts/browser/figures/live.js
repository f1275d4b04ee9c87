// Draws a figure with sliders, from pictures computed beforehand or by a closed form of in_page/: used by saved pages,
// the site and notebooks. A place holds .knobs, .picture, .words and .code, and gives the picture its height where it
// is of the class `fits`; `dark()` says on which ground it stands, and `told` hears where the knobs are, and shows what
// Python draws there if the page cannot.

import { FORMS, OWN_POINTS } from "./in_page/closed_forms.js";
import { breaks, put, wrapped, written } from "./in_page/words.js";
import points, { button as makeButton } from "../widgets/points.js";
import strip from "../widgets/strip.js";

const BEAT = 80; // milliseconds of each step of what plays
export async function unpackedText(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
function recoloured(part, inks) {
  if (typeof part === "string") return inks[part.toLowerCase()] ?? part.replaceAll("#0072B2", inks["#0072b2"]);
  if (Array.isArray(part)) return part.map((one) => recoloured(one, inks));
  if (part === null || typeof part !== "object") return part;
  const dressed = ([name, one]) => [name, name === "bdata" ? one : recoloured(one, inks)];
  return Object.fromEntries(Object.entries(part).map(dressed));
}
// A tick for yes and no, a list for words, a slider for numbers, a field for free words; `show` takes what to show,
// `moved` is told the value.
function control({ label, stops }, value, moved) {
  const kind = { boolean: "tick", string: stops.length ? "list" : "field" }[typeof value] ?? "slider";
  const input = document.createElement(kind === "list" ? "select" : "input");
  input.setAttribute("aria-label", label);
  if (kind === "list") input.append(...stops.map((one) => new Option(one)));
  else Object.assign(input, { type: { tick: "checkbox", field: "text" }[kind] ?? "range" });
  if (kind === "slider") Object.assign(input, { min: 0, max: stops.length - 1, step: 1 });
  const now = () => ({ tick: input.checked, slider: stops[input.value] })[kind] ?? input.value;
  input.addEventListener("input", () => moved(now()));
  const output = document.createElement("output"), show = (told) => {
    if (kind === "tick") input.checked = told;
    else if (kind !== "slider") input.value = told;
    else if (now() !== told) input.value = stops.findIndex((stop) => stop >= told);
    output.textContent = `${told}`;
    if (kind === "slider") input.setAttribute("aria-valuetext", output.textContent);
  };
  return { show, parts: { tick: [input, label], slider: [label, input, output] }[kind] ?? [label, input] };
}
// A button that moves a slider on by itself, from its end from the beginning again.
function player(label, stops, now, move) {
  let timer = 0;
  const rest = () => {
    timer = clearInterval(timer);
    button.textContent = "▶ Play";
  };
  const step = () => (button.isConnected && now() < stops.at(-1) ? move(stops.find((stop) => stop > now())) : rest());
  const button = makeButton(label, "▶ Play", () => {
    if (timer) return rest();
    if (now() >= stops.at(-1)) move(stops[0]);
    button.textContent = "❚❚ Pause";
    timer = setInterval(step, BEAT);
  });
}
// The picture that was computed beforehand for these values.
function stored({ sliders, frames, parts }, values) {
  const frame = frames[sliders.reduce((sum, one) => sum * one.stops.length + one.stops.indexOf(values[one.name]), 0)];
  const made = {};
  for (const [path, number] of frame) {
    let spot = made;
    path.slice(0, -1).forEach((name, i) => (spot = spot[name] ??= typeof path[i + 1] === "number" ? [] : {}));
    spot[path.at(-1)] = parts[number];
  }
  return made;
}
// The picture that a closed form computes for these values.
export function computed({ form, start, given, defaults, floats }, values) {
  const { refused, idle, clicked, ...figure } = FORMS[form](values, start, given);
  const other = Object.keys(defaults).filter((name) => `${values[name]}` !== `${defaults[name]}`);
  const knobs = other.map((name) => `, ${name}=${written(values[name], floats.includes(name))}`);
  return { figure, refused, idle, clicked, code: `lab.figures.create('${form}'${knobs.join("")}).figure()` };
}
// The same where there is little room: two panels one below the other, titles in more lines, and the legend below.
const ROOM = 700, LETTER = 7.4; // pixels
const panelsOf = (layout) => Object.keys(layout).filter((name) => /^xaxis\d*$/.test(name)).length;
function narrowed({ data = [], layout }, width) {
  if (width >= ROOM || !layout.title?.subtitle) return { data, layout };
  const { title, margin, height, xaxis, xaxis2, yaxis, yaxis2 } = layout;
  const flat = (text, size) => wrapped(text.replaceAll("<br>", " "), Math.floor((width - 24) / size));
  const text = flat(title.text, 1.35 * LETTER), under = flat(title.subtitle.text, LETTER);
  const more = 24 * breaks(text) + 18 * (breaks(under) - breaks(title.subtitle.text));
  const told = { "title.text": text, "title.subtitle.text": under, "margin.t": margin.t + more, "margin.l": 50 };
  let tall = height + more;
  if (layout.legend?.orientation !== "h" && layout.showlegend !== false) {
    const room = 22 * data.filter(({ name, showlegend }) => name && showlegend !== false).length;
    const spot = { orientation: "h", yref: "container", y: 0.01, yanchor: "bottom", x: 0, xanchor: "left" };
    Object.assign(told, { legend: { ...layout.legend, ...spot }, "margin.b": 80 + room });
    tall += room;
  }
  if (panelsOf(layout) === 2 && xaxis.domain && yaxis2?.domain && xaxis.domain[1] < xaxis2.domain?.[0]) {
    const [low, high] = yaxis.domain, half = (high - low) / 2, gap = 0.11 * (high - low);
    told.yaxis = { ...yaxis, domain: [low + half + gap, high] };
    told.yaxis2 = { ...yaxis2, showticklabels: true, domain: [low, low + half - gap] };
    for (const one of ["xaxis", "xaxis2"]) told[one] = { ...layout[one], domain: [0, 1] };
    told.annotations = layout.annotations?.map((note) => {
      if (note.xref !== "paper" || note.yref !== "paper") return note;
      const y = note.x > xaxis.domain[1] ? low + half - gap : note.y;
      return { ...note, text: wrapped(note.text, Math.floor((width - 130) / LETTER)), x: 0.5, xanchor: "center", y };
    });
    tall += height * (data.some(({ type }) => type === "table") ? 1 : 0.6);
  }
  return { data, layout: put(layout, { ...told, height: tall, "title.y": 1 - 18 / tall }) };
}
export function liveFigure(place, body, plotly, dark, told = () => {}) {
  const at = (name) => place.querySelector(`.${name}`);
  const values = { ...body.knobs };
  const controls = new Map(), listeners = {}; // of what is dragged
  const scores = body.drag?.[0] === "scores", own = () => OWN_POINTS[body.form]?.(values);
  const unknown = () => Object.entries(body.in_page ?? {}).some(([name, known]) => !known.includes(values[name]));
  let now = {}, elsewhere = {}, due = 0;
  at("words").setAttribute("role", "status");
  const draw = () => {
    if (!unknown()) now = body.form ? computed(body, values) : stored(body, values);
    else if (elsewhere.of === JSON.stringify(values)) now = elsewhere;
    else return; // until it is shown
    place.classList.toggle("in-the-dark", dark());
    if (now.refused) {
      at("words").textContent = `✗ ${now.refused}`;
      return;
    }
    for (const [name, { label }] of controls) label.hidden = now.idle?.includes(name) ?? false;
    const inked = dark() ? recoloured(now.figure, body.inks) : now.figure;
    place.classList.toggle("wide", panelsOf(inked.layout) > 2);
    const { data, layout } = narrowed(inked, at("picture").clientWidth);
    at("words").textContent = layout.meta.alt; // first, for it may take room from the picture
    at("code").textContent = now.code;
    const height = place.classList.contains("fits") ? undefined : layout.height; // else that of its place
    plotly.react(at("picture"), data, { ...layout, height, autosize: true }, { responsive: true, displaylogo: false });
    const clicked = ({ points: [{ x, y }] }) => now.clicked && set(now.clicked(x, y));
    at("picture").clicks ??= at("picture").on("plotly_click", clicked);
  };
  const soon = () => (due ||= requestAnimationFrame(() => {
    due = 0;
    draw();
    if (unknown() || !now.refused) told(values);
  }));
  const show = (picture, knobs) => {
    elsewhere = { ...picture, of: JSON.stringify(knobs) };
    draw();
  };
  const set = (changes) => {
    const before = JSON.stringify(own());
    Object.assign(values, changes);
    const moved = JSON.stringify(own()) !== before && !(body.drag[0] in changes); // then the dragged ones are taken back
    if (moved) for (const name of body.drag) values[name] = [];
    for (const name of Object.keys(changes)) controls.get(name)?.show(values[name]);
    for (const act of Object.values(listeners)) act();
    soon();
  };
  const folded = Object.assign(document.createElement("details"), { innerHTML: "<summary>More settings</summary>" });
  body.sliders.forEach((slider, i) => {
    const label = Object.assign(document.createElement("label"), { title: slider.help });
    const { show, parts } = control(slider, values[slider.name], (value) => set({ [slider.name]: value }));
    show(values[slider.name]);
    label.append(...parts);
    if (slider.name === body.plays)
      player(label, slider.stops, () => values[slider.name], (value) => set({ [slider.name]: value }));
    controls.set(slider.name, { label, show });
    (i < (body.unfolded ?? Infinity) ? at("knobs") : folded).append(label);
  });
  if (folded.children.length > 1) at("knobs").append(folded);
  if (body.drag?.length) {
    const div = (className) => Object.assign(document.createElement("div"), { className });
    const row = div("grips"), root = div(scores ? "list" : "points");
    at("knobs").before(row);
    row.append(root, at("knobs"));
    const names = scores ? ["scores", "pattern"] : ["x", "y"], knob = (name) => body.drag[names.indexOf(name)];
    (scores ? strip : points).render({ el: root, model: {
      get: (name) => (values[knob(name)]?.length ? values[knob(name)] : (own() ?? body.given)[name]),
      set(name, value) {
        if (knob(name)) values[knob(name)] = value;
        listeners[`change:${name}`]();
      },
      on: (event, act) => (listeners[event] = act),
      save_changes: soon,
    } });
  }
  draw();
  return { draw, set, show };
}

export { strip };
