// Draws the live figures of a page when they come into view. plotly is fetched once, from this site, by the first of them.
const HERE = new URL(".", document.currentScript.src), waiting = {};
globalThis.rankscopeFigure = (key, packed) => waiting[key](packed);
const loaded = (name) => new Promise((onload, onerror) => {
  document.head.append(Object.assign(document.createElement("script"), { src: new URL(name, HERE), onload, onerror }));
});
const dark = () => document.body.dataset.mdColorScheme === "slate";
let plotly, later;
const wake = (place) => (place.awake ??= woken(place));
async function woken(place) {
  const key = place.dataset.figure;
  const packed = new Promise((done) => (waiting[key] = done));
  let pictures;
  try {
    await Promise.all([(plotly ??= loaded("plotly.min.js")), loaded(`figures/${key}.js`)]);
    pictures = JSON.parse(await rankscopeLive.unpackedText(await packed));
  } catch {
    place.querySelector(".words").textContent = "The figure's file could not be read.";
    return;
  }
  const { knobs, sliders, form } = pictures, address = new URLSearchParams(location.search);
  const { draw, set } = rankscopeLive.liveFigure(place, pictures, globalThis.Plotly, dark, (now) => {
    const other = Object.entries(now).filter(([name, value]) => `${value}` !== `${knobs[name]}`);
    const words = new URLSearchParams({ figure: key, knobs: JSON.stringify(Object.fromEntries(other)) });
    clearTimeout(later); // browsers refuse an address that changes with every frame
    later = setTimeout(() => history.replaceState(null, "", `?${words}`), 300);
  });
  const able = ([name, value]) => (form ? name in knobs : sliders.find((one) => one.name === name)?.stops.includes(value));
  place.move = (told) => set(Object.fromEntries(Object.entries(JSON.parse(told)).filter(able)));
  if (address.get("figure") === key) place.move(address.get("knobs"));
  place.dataset.drawn = "yes";
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}
const seen = (places) => places.forEach(({ isIntersecting, target }) => isIntersecting && wake(target));
const watch = new IntersectionObserver(seen, { rootMargin: "300px" });
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".live-figure:not(.missing)").forEach((place) => watch.observe(place)));
// Words that move the figure to which they lead.
addEventListener("click", async ({ target }) => {
  if (!target.dataset.set) return;
  const place = document.getElementById(target.hash.slice(1));
  await wake(place);
  place.move(target.dataset.set);
});
// Numbers that are asked for; a prediction is answered once.
addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".asked")) return;
  event.preventDefault();
  const { right, within, once, unit } = JSON.parse(atob(form.dataset.told));
  const fields = [...form.querySelectorAll("input")];
  const wrong = fields.find(({ value }, i) => Math.abs(value - right[i]) > within[i] + 1e-9);
  let answer = wrong ? `Not yet: ${wrong.ariaLabel}.` : "Right.";
  if (once) answer = `You said ${fields[0].value}${unit}; it is ${right[0]}${unit}.`;
  form.querySelector("output").textContent = `${wrong ? "✗" : "✓"} ${answer}`;
  for (const one of once ? form.elements : []) one.disabled = true;
});
