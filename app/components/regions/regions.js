// Draws the records of app/components/regions/__init__.py. The strength of the colours belongs to the browser
// alone, so that the slider follows the hand.

const BLUE = [0, 114, 178], VERMILLION = [213, 94, 0];
const strengths = new WeakMap();

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;
}

// Lines from the lower left to the upper right over a cell that lowers the similarity.
function hatch(context, x, y, width, height, share) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = `rgba(0, 0, 0, ${0.6 * share})`;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = -height; at < width; at += 9) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

function paint(canvas, values, largest, strength) {
  const context = canvas.getContext("2d");
  const height = canvas.height / values.length, width = canvas.width / values[0].length;
  context.clearRect(0, 0, canvas.width, canvas.height);
  values.forEach((row, r) => row.forEach((value, c) => {
    const share = Math.min(1, Math.abs(value) / largest) * strength;
    context.fillStyle = `rgba(${(value < 0 ? VERMILLION : BLUE).join(", ")}, ${share})`;
    context.fillRect(c * width, r * height, width, height);
    if (value < 0 && share > 0.08) hatch(context, c * width, r * height, width, height, share);
  }));
}

function drawPicture(picture, unit) {
  const figure = make("figure"), stage = make("div", "stage"), image = make("img"), canvas = make("canvas");
  image.alt = `${picture.title}: ${picture.words}`;
  if (picture.src.startsWith("data:image/")) image.src = picture.src;
  canvas.width = canvas.height = 480;
  canvas.setAttribute("aria-hidden", "true");
  const tip = make("span", "tip");
  tip.hidden = true;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), rows = picture.values.length, columns = picture.values[0].length;
    const r = Math.floor((event.clientY - box.top) / box.height * rows);
    const c = Math.floor((event.clientX - box.left) / box.width * columns);
    const value = picture.values[r]?.[c];
    tip.hidden = value === undefined;
    if (value !== undefined) tip.textContent = `${signed(value)} ${unit}`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  stage.append(image, canvas, tip);
  const caption = make("figcaption");
  caption.append(make("b", "", picture.title), document.createTextNode(`: ${picture.words}`));
  figure.append(stage, caption);
  return [figure, canvas];
}

function drawScale(largest, unit) {
  const scale = make("div", "scale"), ends = make("div", "ends"), bar = make("div", "bar");
  bar.setAttribute("aria-hidden", "true");
  ends.append(make("span", "", `lowers it: −${largest.toFixed(4)}`), make("span", "", "0"));
  ends.append(make("span", "", `raises it: +${largest.toFixed(4)}`));
  scale.append(bar, ends, make("span", "ends", `${unit}, a cell`));
  return scale;
}

export default function (component) {
  const { data, parentElement } = component;
  const root = parentElement.querySelector(".regions");
  const both = make("div", "both"), drawn = data.pictures.map((picture) => drawPicture(picture, data.unit));
  both.append(...drawn.map(([figure]) => figure));
  const slider = make("input");
  Object.assign(slider, { type: "range", min: 0, max: 1, step: 0.05, value: strengths.get(root) ?? 0.75 });
  const repaint = () => {
    strengths.set(root, Number(slider.value));
    drawn.forEach(([, canvas], at) => paint(canvas, data.pictures[at].values, data.largest || 1, Number(slider.value)));
  };
  slider.addEventListener("input", repaint);
  const label = make("label", "", "Strength of the colours");
  label.append(slider);
  const below = make("div", "below");
  below.append(drawScale(data.largest, data.unit), label);
  root.replaceChildren(both, below);
  repaint();
}
