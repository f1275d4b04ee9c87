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

// The amount at a place between the middles of four cells, in proportion to how near each is.
function between(values, y, x) {
  const row = Math.min(values.length - 1, Math.max(0, y * values.length - 0.5));
  const column = Math.min(values[0].length - 1, Math.max(0, x * values[0].length - 0.5));
  const r = Math.floor(row), c = Math.floor(column), below = Math.min(r + 1, values.length - 1), right = Math.min(c + 1, values[0].length - 1);
  const upper = values[r][c] + (values[r][right] - values[r][c]) * (column - c);
  const lower = values[below][c] + (values[below][right] - values[below][c]) * (column - c);
  return upper + (lower - upper) * (row - r);
}

// Blue where a region raises the similarity; vermillion, and lines across, where it lowers it.
function paint(canvas, values, largest, strength) {
  const context = canvas.getContext("2d"), side = canvas.width, pixels = context.createImageData(side, side);
  for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) {
    const value = between(values, (y + 0.5) / side, (x + 0.5) / side);
    const share = Math.min(1, Math.abs(value) / largest) * strength, dark = value < 0 && (x + y) % 14 < 3;
    pixels.data.set([...(value < 0 ? VERMILLION.map((one) => (dark ? one / 4 : one)) : BLUE), 255 * share], 4 * (y * side + x));
  }
  context.putImageData(pixels, 0, 0);
}

// The numbers are told under the pointer, and by arrow keys cell by cell.
function explore(stage, cell, tip, { values, title }, unit) {
  const rows = values.length, columns = values[0].length, at = [rows >> 1, columns >> 1];
  const show = (shown) => {
    cell.hidden = tip.hidden = !shown;
    Object.assign(cell.style, { top: `${100 * at[0] / rows}%`, left: `${100 * at[1] / columns}%`, height: `${100 / rows}%`, width: `${100 / columns}%` });
    tip.textContent = `${signed(values[at[0]][at[1]])} ${unit}`;
  };
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", `${title}: arrow keys tell what each region adds`);
  stage.addEventListener("keydown", (event) => {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    at[0] = Math.min(rows - 1, Math.max(0, at[0] + way[0]));
    at[1] = Math.min(columns - 1, Math.max(0, at[1] + way[1]));
    show(true);
  });
  stage.addEventListener("pointermove", (event) => {
    const box = stage.getBoundingClientRect();
    at[0] = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * rows)));
    at[1] = Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * columns)));
    show(true);
  });
  stage.addEventListener("pointerleave", () => show(false));
  stage.addEventListener("blur", () => show(false));
}

function drawPicture(picture, unit) {
  const figure = make("figure"), stage = make("div", "stage"), image = make("img"), canvas = make("canvas");
  image.alt = `${picture.title}: ${picture.words}`;
  if (picture.src.startsWith("data:image/")) image.src = picture.src;
  canvas.width = canvas.height = 440;
  canvas.setAttribute("aria-hidden", "true");
  const cell = make("span", "cell"), tip = make("span", "tip");
  cell.hidden = tip.hidden = true;
  tip.setAttribute("role", "status");
  stage.append(image, canvas, cell, tip);
  explore(stage, cell, tip, picture, unit);
  const caption = make("figcaption");
  caption.append(make("b", "", picture.title), document.createTextNode(`: ${picture.words}`));
  figure.append(stage, caption);
  return [figure, canvas];
}

// Numbered lines between the middles of the best matching regions; the thicker, the more the pair adds.
function join(both, { pictures, matches }) {
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.classList.add("lines");
  lines.setAttribute("aria-hidden", "true");
  both.append(lines);
  const draw = () => {
    const box = both.getBoundingClientRect(), stages = [...both.querySelectorAll(".stage")].map((one) => one.getBoundingClientRect());
    const middle = (which, place) => {
      const { values } = pictures[which], stage = stages[which], columns = values[0].length;
      return [stage.left - box.left + stage.width * (place % columns + 0.5) / columns,
        stage.top - box.top + stage.height * (Math.floor(place / columns) + 0.5) / values.length];
    };
    lines.innerHTML = matches.map(([one, other, share], at) => {
      const [[x, y], [u, v]] = [middle(0, one), middle(1, other)], width = 1 + 3 * share / matches[0][2];
      const line = `<path d="M${x} ${y}Q${(x + u) / 2} ${(y + v) / 2 + 22 * (at - 2)} ${u} ${v}"`; // bent, or some would cover others
      const ends = [[x, y], [u, v]].map(([a, b]) => `<circle cx="${a}" cy="${b}" r="8"/><text x="${a}" y="${b + 4}">${at + 1}</text>`);
      return `${line} class="under" stroke-width="${width + 2}"/>${line} stroke-width="${width}"/>${ends.join("")}`;
    }).join("");
  };
  const watched = new ResizeObserver(draw);
  watched.observe(both);
  return () => watched.disconnect();
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
  const below = make("div", "below"), how = make("details");
  how.append(make("summary", "", "How this is computed"), make("p", "", data.how));
  below.append(make("h3", "", data.title), drawScale(data.largest, data.unit), label);
  if (data.matches.length) {
    const best = make("ol", "best");
    best.setAttribute("aria-label", "Regions that match best, and what each pair adds");
    best.append(...data.matches.map(([, , share]) => make("li", "", `${signed(share)} ${data.unit}`)));
    below.append(best);
  }
  below.append(how);
  root.replaceChildren(both, below);
  repaint();
  return join(both, data);
}
