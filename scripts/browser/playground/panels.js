// What stands beside the map: the query's ranked list, the step and its gaps, scores, and their course over the steps.

const SHARE_FELT = 0.01;

// Registered as colours, so that the canvases read them as the page shows them, light or dark.
for (const name of ["--ink", "--quiet", "--faint", "--accent", "--pull", "--push", "--felt-ground"])
  CSS.registerProperty({ name, syntax: "<color>", inherits: true, initialValue: "gray" });

/** The query's ranked list as rows of an ordered list, kept from frame to frame. */
export class RankedList {
  constructor(element, onQuery) {
    this.element = element;
    element.addEventListener("click", (event) => {
      const row = event.target.closest("button");
      if (row) onQuery(Number(row.dataset.item));
    });
  }

  draw(model, measured, list) {
    const { pictures, names } = model.set;
    while (this.element.children.length < list.length) this.element.append(blankRow());
    while (this.element.children.length > list.length) this.element.lastChild.remove();
    const felt = list.map(({ item }) => measured.pairs[model.state.query * model.n + item]);
    const most = Math.max(1e-12, ...felt.map(Math.abs));
    const ofClasses = model.weights !== null; // such a loss compares a picture with classes, not with pictures
    list.forEach((one, at) => {
      const row = this.element.children[at];
      const parts = row.firstChild.children;
      const share = Math.abs(felt[at]) / most;
      row.className = one.right ? "right" : "wrong";
      row.firstChild.dataset.item = one.item;
      if (parts[0].getAttribute("src") !== pictures[one.item]) parts[0].src = pictures[one.item];
      parts[1].textContent = one.right ? "✓" : "✗";
      parts[2].textContent = names[one.item];
      parts[3].textContent = one.score.toFixed(3);
      parts[4].textContent = Number.isNaN(one.soft) ? "" : one.soft.toFixed(1);
      const seen = share >= SHARE_FELT;
      parts[5].className = `force ${!seen ? "none" : felt[at] < 0 ? "pull" : "push"}`;
      parts[5].style.setProperty("--share", seen ? Math.sqrt(share) : 0);
      parts[5].textContent = ofClasses ? "" : !seen ? "not felt" : felt[at] < 0 ? "pulled" : "pushed";
    });
  }
}

function blankRow() {
  const row = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  const picture = document.createElement("img");
  picture.alt = "";
  button.append(picture, ...["sign", "name", "score", "soft", "force"].map(span));
  row.append(button);
  return row;
}

function span(name) {
  const element = document.createElement("span");
  element.className = name;
  return element;
}

/** The step's stand-in over the gap, and a mark for each gap between the query's positives and its other items. */
export class StepPlot {
  constructor(canvas, caption) {
    this.canvas = canvas;
    this.caption = caption;
  }

  draw(model, list) {
    const step = model.surrogate;
    const figure = this.canvas.closest("figure");
    figure.hidden = !step;
    if (!step) return;
    const gaps = gapsOf(list);
    const seen = gaps.filter((gap) => gap > step.reach[0] && gap < step.reach[1]).length;
    const { pen, wide, high, ink } = sheet(this.canvas);
    const reach = Math.max(0.1, ...gaps.map(Math.abs)) * 1.05;
    const x = (gap) => (gap / reach / 2 + 0.5) * wide;
    const top = 2.2;
    const y = (value) => high - 16 - (Math.min(top, value) / top) * (high - 22);
    pen.fillStyle = ink("--felt-ground");
    const [low, up] = step.reach.map((gap) => x(Math.max(-reach, Math.min(reach, gap))));
    pen.fillRect(low, 0, Math.max(1.5, up - low), high - 16);
    line(
      pen,
      ink("--faint"),
      [
        [0, y(0)],
        [wide / 2, y(0)],
        [wide / 2, y(1)],
        [wide, y(1)],
      ],
      [4, 4],
    );
    const curve = Array.from({ length: wide + 1 }, (_, i) => [i, y(step.value((i / wide - 0.5) * 2 * reach))]);
    line(pen, ink("--accent"), curve, [], 2);
    for (const gap of gaps) {
      const felt = gap > step.reach[0] && gap < step.reach[1];
      const place = y(step.value(gap));
      pen.strokeStyle = pen.fillStyle = ink("--ink");
      pen.beginPath();
      if (felt) {
        pen.arc(x(gap), place, 3.5, 0, 7);
        pen.fill();
      } else {
        for (const way of [1, -1]) {
          pen.moveTo(x(gap) - 3, place - 3 * way);
          pen.lineTo(x(gap) + 3, place + 3 * way);
        }
        pen.stroke();
      }
    }
    pen.fillStyle = ink("--quiet");
    pen.fillText(`−${reach.toFixed(1)}`, 1, high - 3);
    pen.textAlign = "center";
    pen.fillText("0", wide / 2, high - 3);
    pen.textAlign = "right";
    pen.fillText(reach.toFixed(1), wide - 1, high - 3);
    this.caption.textContent = `The loss feels ${seen} of ${gaps.length} gaps of this query (● felt, × not felt).`;
    this.canvas.setAttribute(
      "aria-label",
      `Stand-in for the step over the similarity gap. ${this.caption.textContent}`,
    );
  }
}

/** Of each positive of a list to every other item: how far the other stands ahead. */
export function gapsOf(list) {
  return list
    .filter(({ right }) => right)
    .flatMap((positive) => list.filter((other) => other !== positive).map((other) => other.score - positive.score));
}

const CURVES = [
  { name: "loss", words: "loss (of its largest)", dash: [], ink: "--push" },
  { name: "precision", words: "average precision", dash: [7, 3], ink: "--accent" },
  { name: "first", words: "first answer right", dash: [2, 3], ink: "--pull" },
];

/** Loss and scores over the steps. */
export class Course {
  constructor(canvas) {
    this.canvas = canvas;
    this.points = [];
  }

  clear() {
    this.points = [];
  }

  add(step, loss, metrics) {
    this.points = this.points.filter((point) => point.step < step);
    this.points.push({ step, loss, ...metrics });
    if (this.points.length > 1200) this.points = this.points.filter((_, i) => i % 2 === 0);
  }

  draw() {
    const { pen, wide, high, ink } = sheet(this.canvas);
    const first = this.points[0]?.step ?? 0;
    const last = Math.max(first + 20, this.points.at(-1)?.step ?? 0);
    const most = Math.max(1e-9, ...this.points.map(({ loss }) => Math.abs(loss)));
    const x = (step) => ((step - first) / (last - first)) * (wide - 2) + 1;
    const y = (share) => 4 + (1 - share) * (high - 22);
    line(pen, ink("--faint"), [
      [0, y(0)],
      [wide, y(0)],
    ]);
    line(
      pen,
      ink("--faint"),
      [
        [0, y(1)],
        [wide, y(1)],
      ],
      [2, 4],
    );
    for (const { name, dash, ink: colour } of CURVES) {
      const share = (point) => (name === "loss" ? Math.max(0, point.loss / most) : point[name]);
      line(
        pen,
        ink(colour),
        this.points.map((point) => [x(point.step), y(share(point))]),
        dash,
        2,
      );
    }
    pen.fillStyle = ink("--quiet");
    pen.fillText(`step ${first}`, 1, high - 3);
    pen.textAlign = "right";
    pen.fillText(`step ${last}`, wide - 1, high - 3);
    const now = this.points.at(-1);
    if (!now) return;
    const words = CURVES.map(({ name, words: what }) => `${what} ${now[name].toFixed(3)}`).join(", ");
    this.canvas.setAttribute("aria-label", `Course over the steps. At step ${now.step}: ${words}.`);
  }
}

/** The legend of `Course`: each line as it is drawn, and its name. */
export function legendOf(element) {
  element.replaceChildren(
    ...CURVES.map(({ words, dash, ink }) => {
      const item = span("key");
      item.innerHTML = `<svg width="26" height="8" aria-hidden="true"><path d="M0 4H26" stroke="var(${ink})"
      stroke-width="2" stroke-dasharray="${dash.join(" ")}"/></svg>`;
      item.append(words);
      return item;
    }),
  );
}

/** A canvas cleared and scaled to the screen's pixels. */
function sheet(canvas) {
  const wide = Math.round(canvas.clientWidth) || 300;
  const high = Math.round(canvas.clientHeight) || 110;
  const dense = globalThis.devicePixelRatio || 1;
  if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(high * dense)) {
    canvas.width = Math.round(wide * dense);
    canvas.height = Math.round(high * dense);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, wide, high);
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "left";
  const style = getComputedStyle(canvas);
  return { pen, wide, high, ink: (name) => style.getPropertyValue(name) };
}

function line(pen, colour, points, dash = [], width = 1) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}
