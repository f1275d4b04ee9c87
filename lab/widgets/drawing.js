// Built from scripts/browser; edit the sources there.

// widgets/drawing.js
var AGAIN = 1500;
var SOON = 700;
async function unpack(packed) {
  const source = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const module = { exports: {} };
  new Function("module", "exports", "define", source).call(globalThis, module, module.exports, void 0);
  return module.exports.react ? module.exports : globalThis.Plotly;
}
function recoloured(part, inks) {
  if (typeof part === "string") return inks[part.toLowerCase()] ?? part.replaceAll("#0072B2", inks["#0072b2"]);
  if (Array.isArray(part)) return part.map((one) => recoloured(one, inks));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, name === "bdata" ? one : recoloured(one, inks)]));
}
function buttons(model, letter) {
  const bar = document.createElement("div");
  bar.className = "lab-copy";
  const add = (kind, name, text = "") => {
    const node = Object.assign(document.createElement(kind), { className: name, textContent: text });
    bar.append(node);
    return node;
  };
  const reset = add("button", "lab-button", "Reset"), copy = add("button", "lab-button", "Copy as code");
  const line = add("code", "lab-code"), said = add("span", "");
  reset.title = "Back to where the knobs started";
  line.hidden = true;
  line.tabIndex = 0;
  said.setAttribute("role", "status");
  reset.addEventListener("click", () => model.send({ reset: true }));
  copy.addEventListener("click", async () => {
    line.textContent = letter().code;
    line.hidden = false;
    try {
      await navigator.clipboard.writeText(line.textContent);
      said.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(line);
      said.textContent = "selected: copy it with Ctrl+C";
    }
  });
  return { bar, moved: () => {
    line.textContent = letter().code;
    said.textContent = "";
  } };
}
async function render({ model, el }) {
  const find = (name) => model.widget_manager.get_model(model.get(name).slice("IPY_MODEL_".length));
  const [post, library] = await Promise.all([find("post"), find("library")]);
  const letter = () => JSON.parse(post.get("value"));
  const { bar, moved } = buttons(model, letter);
  const paper = document.createElement("div");
  el.append(bar, paper);
  let plotly = null, shown = 0, width = 0, stale = true, busy = false, timer = 0, gone = false;
  const dark = () => document.body.dataset.jpThemeLight === "false";
  const dressed = (figure) => {
    const { data, layout } = dark() ? recoloured(figure, model.get("inks")) : figure;
    return [paper, data, { ...layout, autosize: true }, { responsive: false, displaylogo: false }];
  };
  const ask = () => {
    if (gone) return;
    model.send({ shown });
    timer = setTimeout(ask, AGAIN);
  };
  const askSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, SOON);
  };
  const draw = async () => {
    if (busy || gone || plotly === null || width === 0) return;
    busy = true;
    try {
      for (let next = letter(); next.number !== shown || stale; next = letter()) {
        stale = false;
        const first = shown === 0;
        await plotly.react(...dressed(next.figure));
        if (first) paper.on("plotly_click", ({ points: [point] }) => model.send({ clicked: [point.x, point.y] }));
        shown = next.number;
        paper.dataset.shown = shown;
        moved();
        model.send({ drawn: shown });
        await new Promise((go) => setTimeout(go));
      }
    } finally {
      busy = false;
    }
  };
  const again = () => {
    stale = true;
    draw();
  };
  const answered = ({ newest }) => {
    if (newest === shown) clearTimeout(timer);
  };
  const watch = new ResizeObserver(([entry]) => {
    const before = width;
    width = Math.floor(entry.contentRect.width);
    if (width === 0 || width === before) return;
    if (before === 0) {
      draw();
      askSoon();
    } else if (shown && !busy) plotly.Plots.resize(paper);
  });
  const theme = new MutationObserver(again);
  post.on("change:value", draw);
  post.on("msg:custom", answered);
  for (const hand of ["pointerup", "keyup", "change"]) document.addEventListener(hand, askSoon, true);
  theme.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  watch.observe(el);
  try {
    plotly = await (globalThis.rankscopePlotly ??= unpack(library.get("packed")));
  } catch (error) {
    globalThis.rankscopePlotly = void 0;
    paper.textContent = `The figure could not be drawn: this browser did not start plotly (${error}).`;
    throw error;
  }
  await draw();
  return () => {
    gone = true;
    clearTimeout(timer);
    watch.disconnect();
    theme.disconnect();
    post.off("change:value", draw);
    post.off("msg:custom", answered);
    for (const hand of ["pointerup", "keyup", "change"]) document.removeEventListener(hand, askSoon, true);
    if (shown) plotly.purge(paper);
  };
}
var drawing_default = { render };
export {
  buttons,
  drawing_default as default,
  unpack
};
