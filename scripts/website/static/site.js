// Draws the live figures of a page when they come into view. plotly is fetched once, from this site, by the first of them.
const HERE = new URL(".", document.currentScript.src), waiting = {};
globalThis.rankscopeFigure = (key, packed) => waiting[key](packed);
const loaded = (name) =>
  new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: new URL(name, HERE), onload: done, onerror: failed });
    document.head.append(script);
  });
const dark = () => document.body.dataset.mdColorScheme === "slate";
let plotly;
async function wake(place) {
  const key = place.dataset.figure;
  const packed = new Promise((done) => (waiting[key] = done));
  let pictures;
  try {
    await Promise.all([(plotly ??= loaded("plotly.min.js")), loaded(`figures/${key}.js`)]);
    pictures = JSON.parse(await unpackedText(await packed));
  } catch {
    place.querySelector(".words").textContent = "The figure's file could not be read.";
    return;
  }
  const { draw } = liveFigure(place, pictures, globalThis.Plotly, dark);
  place.dataset.drawn = "yes";
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}
const watch = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    watch.unobserve(target);
    wake(target);
  }
}, { rootMargin: "300px" });
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".live-figure:not(.missing)").forEach((place) => watch.observe(place)));
