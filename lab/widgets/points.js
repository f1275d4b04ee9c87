// Built from scripts/browser; edit the sources there.

// widgets/points.js
var COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#6E6E6E"];
var SIZE = 420;
var EDGE = 16;
var SHAPES = [
  "M-7,0a7,7 0 1,0 14,0a7,7 0 1,0 -14,0",
  "M-7,-4L-4,-7 0,-3 4,-7 7,-4 3,0 7,4 4,7 0,3 -4,7 -7,4 -3,0Z",
  "M-6,-6H6V6H-6Z",
  "M0,-8L7,6H-7Z",
  "M0,-8L8,0 0,8 -8,0Z",
  "M-3,-8H3V-3H8V3H3V8H-3V3H-8V-3H-3Z"
];
var svg = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== void 0) node.textContent = text;
  return node;
};
var button = (tools, text, act) => {
  const node = Object.assign(document.createElement("button"), { type: "button", className: "lab-button" });
  node.textContent = text;
  node.addEventListener("click", act);
  tools.append(node);
  return node;
};
var round = (value) => Math.round(value * 1e4) / 1e4;
function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "lab-drag";
  root.style.maxWidth = `${SIZE + 20}px`;
  const canvas = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "points in the plane" });
  const tools = document.createElement("div");
  tools.className = "tools";
  root.append(canvas, tools);
  el.append(root);
  let chosen = 0, held = null, box = { x: 0, y: 0, span: 1 };
  const xs = () => model.get("x"), ys = () => model.get("y"), classes = () => [...model.get("classes")];
  const letters = () => [...new Set(classes())].sort();
  const put = (x, y, c) => {
    model.set("x", x);
    model.set("y", y);
    model.set("classes", c.join(""));
    model.save_changes();
  };
  const move = (index, x, y) => put(xs().map((v, i) => i === index ? round(x) : v), ys().map((v, i) => i === index ? round(y) : v), classes());
  const fixed = model.get("fixed");
  const change = (index) => {
    if (fixed) return;
    const known = letters(), c = classes();
    c[index] = known[(known.indexOf(c[index]) + 1) % known.length];
    put(xs(), ys(), c);
  };
  const remove = (index) => {
    if (fixed || xs().length <= 2) return;
    const keep = (list) => list.filter((_, i) => i !== index);
    chosen = Math.max(0, chosen - 1);
    put(keep(xs()), keep(ys()), keep(classes()));
  };
  const frame = () => {
    const reach = (list) => [Math.min(...list), Math.max(...list)];
    const [x0, x1] = reach(xs()), [y0, y1] = reach(ys());
    const span = Math.max(x1 - x0, y1 - y0, 0.5) * 1.3;
    box = { x: (x0 + x1 - span) / 2, y: (y0 + y1 - span) / 2, span };
  };
  const px = (v) => EDGE + (v - box.x) / box.span * (SIZE - 2 * EDGE);
  const py = (v) => SIZE - EDGE - (v - box.y) / box.span * (SIZE - 2 * EDGE);
  const draw = (focus = false) => {
    if (held === null) frame();
    canvas.replaceChildren();
    canvas.append(svg("rect", { x: 1, y: 1, width: SIZE - 2, height: SIZE - 2, fill: "#fff", stroke: "#ccc" }));
    const line = { stroke: "#e4e4e4" };
    canvas.append(svg("line", { ...line, x1: px(0), x2: px(0), y1: 0, y2: SIZE }), svg("line", { ...line, y1: py(0), y2: py(0), x1: 0, x2: SIZE }));
    const known = letters();
    classes().forEach((letter, i) => {
      const kind = known.indexOf(letter);
      const grip = svg("g", {
        class: "grip" + (held === i ? " held" : ""),
        role: "slider",
        tabindex: i === chosen ? 0 : -1,
        "data-index": i,
        transform: `translate(${px(xs()[i])},${py(ys()[i])})`,
        "aria-label": `point ${i + 1} of class ${letter}`,
        "aria-valuenow": xs()[i],
        "aria-valuetext": `x ${xs()[i].toFixed(2)}, y ${ys()[i].toFixed(2)}`
      });
      grip.append(svg("path", { class: "ring", d: SHAPES[kind % SHAPES.length], fill: COLOURS[kind % COLOURS.length], stroke: "#fff", "stroke-width": 1 }));
      if (xs().length <= 16) grip.append(svg("text", { x: 9, y: -6 }, letter));
      canvas.append(grip);
      if (focus && i === chosen) grip.focus();
    });
  };
  canvas.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".grip");
    if (!grip) return;
    held = chosen = Number(grip.dataset.index);
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    draw(true);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse());
    const scale = box.span / (SIZE - 2 * EDGE), inside = (v) => Math.min(SIZE, Math.max(0, v));
    move(held, box.x + (inside(at.x) - EDGE) * scale, box.y + (SIZE - EDGE - inside(at.y)) * scale);
  });
  const release = () => {
    if (held === null) return;
    held = null;
    draw(true);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("keydown", (event) => {
    if (!event.target.closest(".grip")) return;
    const step = box.span * (event.shiftKey ? 0.05 : 0.01), x = xs()[chosen], y = ys()[chosen];
    const actions = {
      ArrowRight: () => move(chosen, x + step, y),
      ArrowLeft: () => move(chosen, x - step, y),
      ArrowUp: () => move(chosen, x, y + step),
      ArrowDown: () => move(chosen, x, y - step),
      PageDown: () => chosen = (chosen + 1) % xs().length,
      PageUp: () => chosen = (chosen + xs().length - 1) % xs().length,
      Enter: () => change(chosen),
      Delete: () => remove(chosen)
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
    draw(true);
  });
  if (!fixed) {
    button(tools, "add", () => put([...xs(), round(box.x + box.span / 2)], [...ys(), round(box.y + box.span / 2)], [...classes(), classes()[chosen]]));
    button(tools, "change class", () => change(chosen));
    button(tools, "remove", () => remove(chosen));
  }
  const help = document.createElement("span");
  help.className = "help";
  help.textContent = "Drag. Keys: arrows move (Shift: more), PageUp and PageDown choose" + (fixed ? "." : ", Enter changes the class, Delete removes.");
  tools.append(help);
  const redraw = () => draw(canvas.contains(document.activeElement));
  for (const name of ["x", "y", "classes"]) model.on(`change:${name}`, redraw);
  draw();
  return () => ["x", "y", "classes"].forEach((name) => model.off(`change:${name}`, redraw));
}
var points_default = { render };
export {
  button,
  points_default as default,
  svg
};
