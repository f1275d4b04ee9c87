// A figure that the page computes, in a notebook: controls, picture and words are those of the site, and the kernel
// hears where the knobs are once the hand rests. Where it moves them comes in the mailbox `post`, and what it draws.

import { liveFigure, unpackedText } from "../figures/live.js";
import { buttons, unpack } from "./drawing.js";

const REST = 100; // milliseconds

async function render({ model, el }) {
  const find = (name) => model.widget_manager.get_model(model.get(name).slice("IPY_MODEL_".length));
  const [post, library] = await Promise.all([find("post"), find("library")]);
  const body = JSON.parse(await unpackedText(model.get("form")));
  const place = document.createElement("div");
  place.className = "lab-live";
  for (const name of ["knobs", "picture", "words", "code"]) place.innerHTML += `<div class="${name}"></div>`;
  const at = (name) => place.querySelector(`.${name}`);
  let live = null, timer = 0, width = 0;
  const reset = { send: () => live?.set(body.knobs) };
  const { bar, moved } = buttons(reset, () => ({ code: at("code").textContent }));
  el.append(bar, place);
  const told = (values) => {
    moved();
    clearTimeout(timer);
    timer = setTimeout(() => {
      model.set("knobs", { ...values });
      model.save_changes();
    }, REST);
  };
  const heard = (first) => {
    const { knobs, picture, asked } = JSON.parse(post.get("value"));
    if (!asked && !first) live?.set(knobs);
    live?.show(picture, knobs);
  };
  const plotly = await (globalThis.rankscopePlotly ??= unpack(library.get("packed")));
  const watch = new ResizeObserver(([entry]) => {
    const before = width;
    width = Math.floor(entry.contentRect.width);
    if (width === 0 || width === before) return;
    if (live) return live.draw();
    live = liveFigure(place, body, plotly, () => document.body.dataset.jpThemeLight === "false", told);
    live.set(model.get("knobs"));
    heard(true);
  });
  const theme = new MutationObserver(() => live?.draw());
  const kernelMoved = () => heard(false);
  post.on("change:value", kernelMoved);
  theme.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  watch.observe(el);
  return () => {
    watch.disconnect();
    theme.disconnect();
    post.off("change:value", kernelMoved);
    if (live) plotly.purge(at("picture"));
  };
}
export default { render };
