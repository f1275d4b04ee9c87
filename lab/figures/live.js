// Draws a figure with sliders from pictures computed beforehand: used by saved pages and by the site.
// A place holds .knobs, .picture, .words and .code, and gives the picture its height where it is of the class `fits`;
// `dark()` says on which ground it stands.
async function unpackedText(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
function recoloured(part, inks) {
  if (typeof part === "string") return inks[part.toLowerCase()] ?? part.replaceAll("#0072B2", inks["#0072b2"]);
  if (Array.isArray(part)) return part.map((one) => recoloured(one, inks));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, name === "bdata" ? one : recoloured(one, inks)]));
}
// A tick for yes and no, a list for words, a slider for numbers; `moved` is told the number of the stop.
function control({ label, stops, start }, moved) {
  const tick = typeof stops[start] === "boolean", words = typeof stops[start] === "string";
  const input = document.createElement(words ? "select" : "input");
  input.setAttribute("aria-label", label);
  if (words) input.append(...stops.map((one, i) => new Option(one, i, i === start, i === start)));
  else if (tick) Object.assign(input, { type: "checkbox", checked: stops[start] });
  else Object.assign(input, { type: "range", min: 0, max: stops.length - 1, step: 1, value: start });
  input.addEventListener("input", () => moved(tick ? stops.indexOf(input.checked) : Number(input.value)));
  return input;
}
function liveFigure(place, { inks, sliders, frames, parts }, plotly, dark) {
  const at = (name) => place.querySelector(`.${name}`);
  const places = sliders.map((one) => one.start);
  const picture = () => {
    const frame = frames[sliders.reduce((sum, one, i) => sum * one.stops.length + places[i], 0)];
    const made = {};
    for (const [path, number] of frame) {
      let spot = made;
      path.slice(0, -1).forEach((name, i) => (spot = spot[name] ??= typeof path[i + 1] === "number" ? [] : {}));
      spot[path.at(-1)] = parts[number];
    }
    return made;
  };
  const draw = () => {
    const { figure, code, refused } = picture();
    if (refused) {
      at("words").textContent = `✗ ${refused}`;
      return;
    }
    const { data = [], layout } = dark() ? recoloured(figure, inks) : figure;
    at("words").textContent = layout.meta.alt; // first, for it may take room from the picture
    at("code").textContent = code;
    const height = place.classList.contains("fits") ? undefined : layout.height; // else that of its place
    plotly.react(at("picture"), data, { ...layout, height, autosize: true }, { responsive: true, displaylogo: false });
  };
  sliders.forEach((slider, i) => {
    const { label: text, help, stops } = slider;
    const label = Object.assign(document.createElement("label"), { title: help });
    const value = document.createElement("output");
    const input = control(slider, (place) => {
      places[i] = place;
      told();
      draw();
    });
    const told = () => {
      value.textContent = `${stops[places[i]]}`;
      if (input.type === "range") input.setAttribute("aria-valuetext", value.textContent);
    };
    told();
    label.append(...(input.type === "checkbox" ? [input, text] : input.type === "range" ? [text, input, value] : [text, input]));
    at("knobs").append(label);
  });
  draw();
  return draw;
}
