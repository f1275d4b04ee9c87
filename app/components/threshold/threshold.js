// Draws the record `Histogram` of app/components/displays.py and a line across it that is dragged or moved by keys; every
// string goes in as text. What the line stands at is told to the server when it rests.
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 300, LEFT = 48, RIGHT = 14, TOP = 26, BOTTOM = 44;
const RESTS = 250;  // ms after the last key until the server hears of it

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function draw(tag, facts, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(facts)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`);
const near = (values, value) => values.reduce((best, one, at) => (Math.abs(one - value) < Math.abs(values[best] - value) ? at : best), 0);

function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
}

function outline(edges, shares, x, y) {
  const steps = shares.flatMap((share, at) => [`L${x(edges[at])},${y(share)}`, `L${x(edges[at + 1])},${y(share)}`]);
  return `M${x(edges[0])},${y(0)}${steps.join("")}L${x(edges.at(-1))},${y(0)}`;
}

function hatch() {
  const defs = draw("defs", {}), pattern = draw("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" });
  pattern.append(draw("path", { d: "M-1,7L7,-1M-1,1L1,-1M5,7L7,5", class: "hatch" }));
  defs.append(pattern);
  return defs;
}

function chart(data, width) {
  const low = data.edges[0], high = data.edges.at(-1), most = Math.max(...data.same, ...data.other) || 1;
  const x = (value) => LEFT + ((value - low) / (high - low)) * (width - LEFT - RIGHT);
  const y = (share) => HEIGHT - BOTTOM - (share / most) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": `${data.title}. ${data.alt}` });
  svg.append(hatch());
  svg.append(draw("path", { d: outline(data.edges, data.other, x, y), class: "other", fill: "url(#hatch)" }));
  svg.append(draw("path", { d: outline(data.edges, data.same, x, y), class: "same" }));
  svg.append(draw("path", { d: `M${LEFT},${y(0)}H${width - RIGHT}`, class: "axis" }));
  for (const one of ticks(low, high, width < 500 ? 4 : 8)) svg.append(draw("text", { x: x(one), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, one));
  for (const one of ticks(0, most, 3)) svg.append(draw("text", { x: LEFT - 6, y: y(one) + 4, "text-anchor": "end" }, `${Number((100 * one).toPrecision(3))} %`));
  svg.append(draw("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, data.unit));
  svg.append(draw("text", { x: 4, y: 14 }, "share of the pairs of each kind"));
  return { svg, x, back: (place) => low + ((place - LEFT) / (width - LEFT - RIGHT)) * (high - low) };
}

function legend() {
  const list = make("div", "legend");
  for (const [kind, words] of [["same", "pairs of one class"], ["other", "pairs of two classes (dashed, hatched)"]]) {
    const entry = make("span"), sample = draw("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" });
    sample.append(draw("rect", { x: 1, y: 1, width: 24, height: 10, class: kind, ...(kind === "other" ? { fill: "none" } : {}) }));
    entry.append(sample, words);
    list.append(entry);
  }
  return list;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".threshold");
  root.report = (value) => setTriggerValue("moved", { value });
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn || root.held) return;
  root.drawn = drawn;
  const had = root.querySelector(".grip")?.matches(":focus") ?? false;
  let at = near(data.thresholds, data.value), timer = 0;

  const paint = () => {
    const width = Math.max(280, Math.round(root.clientWidth || 720)), focused = had || root.querySelector(".grip")?.matches(":focus");
    const { svg, x, back } = chart(data, width);
    const grip = draw("g", {
      class: "grip", role: "slider", tabindex: 0, "aria-label": "Threshold", "aria-valuemin": data.thresholds[0],
      "aria-valuemax": data.thresholds.at(-1), "aria-orientation": "horizontal",
    });
    grip.append(draw("rect", { class: "hold", x: -14, y: 0, width: 28, height: HEIGHT - BOTTOM }));
    grip.append(draw("path", { class: "line", d: `M0,${TOP - 2}V${HEIGHT - BOTTOM}` }), draw("circle", { class: "knob", cx: 0, cy: TOP - 4, r: 7 }));
    svg.append(grip);
    const readout = make("p", "readout");
    const stand = () => {
      const value = data.thresholds[at], inside = Math.min(data.edges.at(-1), Math.max(data.edges[0], value));
      grip.setAttribute("transform", `translate(${x(inside)},0)`);
      const words = `${Number(value.toPrecision(3))}: false accepts ${percent(data.far[at])}, false rejects ${percent(data.frr[at])}`;
      grip.setAttribute("aria-valuenow", value);
      grip.setAttribute("aria-valuetext", words);
      readout.textContent = `At ${words}`;
    };
    const rest = (later) => {
      clearTimeout(timer);
      timer = setTimeout(() => root.report(data.thresholds[at]), later);
    };
    const follow = (event) => {
      const box = svg.getBoundingClientRect();
      at = near(data.thresholds, back(((event.clientX - box.left) / box.width) * width));
      stand();
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      root.held = true;
      svg.setPointerCapture(event.pointerId);
      follow(event);
      grip.focus({ preventScroll: true });
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => { if (root.held) follow(event); });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => {
      if (root.held) rest(0);
      root.held = false;
    });
    grip.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      at = Math.min(data.thresholds.length - 1, Math.max(0, at + steps[event.key]));
      stand();
      rest(RESTS);
    });
    stand();
    root.replaceChildren(make("h3", "", data.title), svg, legend(), readout);
    root.width = width;
    if (focused) grip.focus({ preventScroll: true });
  };
  paint();
  root.observer?.disconnect();
  root.observer = new ResizeObserver(() => { if (!root.held && Math.abs(root.clientWidth - root.width) > 4) paint(); });
  root.observer.observe(root);
}
