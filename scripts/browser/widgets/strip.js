// The scores of a ranked list, dragged along their axis. Positives stand above the line, negatives below.
import { button, svg } from "./points.js";

const BLUE = "#0072B2", VERMILLION = "#D55E00", WIDEST = 760, HEIGHT = 132, LEFT = 30, RIGHT = 30, LINE = 62;
const clip = (value) => Math.round(Math.min(1, Math.max(-1, value)) * 1e4) / 1e4;

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "lab-drag";
  const canvas = svg("svg", { role: "group", "aria-label": "ranked list of similarities" });
  const tools = document.createElement("div");
  tools.className = "tools";
  root.append(canvas, tools);
  el.append(root);

  let chosen = 0, held = null, low = 0, high = 1, width = WIDEST;
  const scores = () => model.get("scores"), pattern = () => model.get("pattern");
  const x = (s) => LEFT + ((s - low) / (high - low)) * (width - LEFT - RIGHT);
  // Name and picture of each item, as lab.figures.twelve.faces gives them; none for a list that has more items of a sign.
  const faces = () => {
    const known = model.get("faces") ?? {}, count = { "+": 0, "-": 0 };
    const found = [...pattern()].map((sign) => known[sign]?.[count[sign]++]);
    return found.every(Boolean) ? found : null;
  };
  const names = () => {
    const shown = faces(), count = { "+": 0, "-": 0 };
    return shown?.map(([name]) => name) ?? [...pattern()].map((sign) => (sign === "+" ? "P" : "N") + ++count[sign]);
  };
  const put = (newScores, newPattern) => {
    model.set("scores", newScores);
    model.set("pattern", newPattern);
    model.save_changes();
  };
  const move = (index, value) => put(scores().map((s, i) => (i === index ? clip(value) : s)), pattern());
  const flip = (index) => {
    const signs = [...pattern()];
    signs[index] = signs[index] === "+" ? "-" : "+";
    if (signs.includes("+")) put(scores(), signs.join(""));
  };
  const remove = (index) => {
    const signs = [...pattern()].filter((_, i) => i !== index);
    if (signs.length < 2 || !signs.includes("+")) return;
    chosen = Math.min(chosen, signs.length - 1);
    put(scores().filter((_, i) => i !== index), signs.join(""));
  };
  const frame = () => {
    low = Math.max(-1, Math.floor((Math.min(...scores()) - 0.08) * 10) / 10);
    high = Math.min(1, Math.ceil((Math.max(...scores()) + 0.04) * 10) / 10);
  };

  const draw = (focus = false) => {
    if (held === null) frame();
    width = Math.min(WIDEST, root.clientWidth - 20 || WIDEST); // on a phone as large as elsewhere, for fingers
    canvas.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    canvas.replaceChildren();
    canvas.append(svg("line", { x1: LEFT - 10, x2: width - RIGHT + 10, y1: LINE, y2: LINE, stroke: "#888" }));
    const tick = high - low > 0.8 ? (width < 500 ? 0.5 : 0.2) : high - low > 0.35 ? 0.1 : 0.05;
    for (let s = Math.ceil(low / tick) * tick; s <= high + 1e-9; s += tick) {
      canvas.append(svg("line", { x1: x(s), x2: x(s), y1: LINE - 3, y2: LINE + 3, stroke: "#888" }));
      canvas.append(svg("text", { x: x(s), y: HEIGHT - 3, "text-anchor": "middle" }, s.toFixed(2)));
    }
    const last = { "+": [-99, -99], "-": [-99, -99] };
    const order = scores().map((s, i) => i).sort((a, b) => scores()[a] - scores()[b]);
    for (const i of order) {
      const sign = pattern()[i], at = x(scores()[i]), mine = sign === "+";
      const level = at - last[sign][0] >= 26 ? 0 : at - last[sign][1] >= 26 ? 1 : 0;
      last[sign][level] = at;
      const y = LINE + (mine ? -1 : 1) * (20 + 22 * level) + (mine ? 0 : -4);
      const grip = svg("g", {
        class: "grip" + (held === i ? " held" : ""), role: "slider", tabindex: i === chosen ? 0 : -1, "data-index": i,
        "aria-label": `${names()[i]}, ${mine ? "same" : "different"} label`, "aria-valuemin": -1, "aria-valuemax": 1,
        "aria-valuenow": scores()[i], "aria-valuetext": `similarity ${scores()[i].toFixed(3)}`,
      });
      grip.append(svg("line", { x1: at, x2: at, y1: LINE, y2: y, stroke: "#bbb" }));
      const face = faces()?.[i];
      grip.append(svg("circle", { class: "ring", cx: at, cy: y, r: face ? 14 : 11, fill: mine && !face ? BLUE : "#fff", stroke: mine ? BLUE : VERMILLION, "stroke-width": 2, "stroke-dasharray": mine ? "none" : "4 2" }));
      if (face) grip.append(svg("image", { href: face[1], x: at - 10, y: y - 10, width: 20, height: 20 }));
      else grip.append(svg("text", { x: at, y: y + 4, "text-anchor": "middle", style: `fill:${mine ? "#fff" : "#222"};font-weight:bold` }, names()[i]));
      canvas.append(grip);
      if (focus && i === chosen) grip.focus();
    }
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
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse()).x;
    move(held, low + ((place - LEFT) / (width - LEFT - RIGHT)) * (high - low));
  });
  const release = () => {
    if (held === null) return;
    held = null;
    draw(true);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("dblclick", () => flip(chosen));
  canvas.addEventListener("keydown", (event) => {
    if (!event.target.closest(".grip")) return;
    chosen = Number(event.target.closest(".grip").dataset.index);
    const step = event.shiftKey ? 0.05 : 0.01, s = scores()[chosen];
    const order = scores().map((_, i) => i).sort((a, b) => scores()[b] - scores()[a]), place = order.indexOf(chosen);
    const actions = {
      ArrowRight: () => move(chosen, s + step), ArrowUp: () => move(chosen, s + step),
      ArrowLeft: () => move(chosen, s - step), ArrowDown: () => move(chosen, s - step),
      Home: () => move(chosen, -1), End: () => move(chosen, 1),
      PageDown: () => (chosen = order[Math.min(place + 1, order.length - 1)]), PageUp: () => (chosen = order[Math.max(place - 1, 0)]),
      Enter: () => flip(chosen), Delete: () => remove(chosen),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
    draw(true);
  });
  const middle = () => clip((Math.max(...scores()) + Math.min(...scores())) / 2);
  button(tools, "+ same label", () => put([...scores(), middle()], pattern() + "+"));
  button(tools, "+ different label", () => put([...scores(), middle()], pattern() + "-"));
  button(tools, "change label", () => flip(chosen));
  button(tools, "remove", () => remove(chosen));
  const help = document.createElement("span");
  help.className = "help";
  help.textContent = "Drag. Keys: arrows move (Shift: more), PageUp and PageDown choose, Enter changes the label, Delete removes.";
  tools.append(help);

  const redraw = () => scores().length === pattern().length && draw(canvas.contains(document.activeElement));
  model.on("change:scores", redraw);
  model.on("change:pattern", redraw);
  draw();
}
export default { render };
