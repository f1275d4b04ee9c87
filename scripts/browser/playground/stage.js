// The map: items on a circle or sphere, what each of them is pushed to, and what the query feels of the others. Points
// are taken by mouse, finger or arrow keys.

const SVG = "http://www.w3.org/2000/svg";
const SIDES = [0, 4, 3, 6, 5, 8, 7, 10]; // corners of the frame around each class; 0 is a circle
const SIZE = 0.17;
const LONGEST = 0.42;
/** How far an arrow key moves a point, in radians; with Shift a fifth of it. */
const NUDGE = 0.1;

export class Stage {
  /**
   * @param {SVGSVGElement} svg
   * @param {{onQuery: (i: number) => void, onPlace: (i: number, row: number[]) => void}} handlers
   */
  constructor(svg, handlers) {
    this.svg = svg;
    this.handlers = handlers;
    this.turn = { yaw: 0.5, pitch: 0.35 };
    this.layers = ["ground", "lines", "arrows", "weights", "items"].map((name) => add(svg, "g", { class: name }));
    svg.addEventListener("pointerdown", (event) => this.take(event));
    svg.addEventListener("pointermove", (event) => this.pull(event));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => (this.held = null));
    svg.addEventListener("keydown", (event) => this.nudge(event));
  }

  /** Another set, or another space: everything is made anew. */
  build(model) {
    this.model = model;
    const [ground, lines, arrows, weights, items] = this.layers;
    for (const layer of this.layers) layer.replaceChildren();
    this.basis = model.state.d > 3 ? principalPlane(model.places, model.n, model.state.d) : null;
    add(ground, "circle", { r: 1 });
    if (model.state.d === 3) this.rings = [0, 1, 2].map(() => add(ground, "path", { class: "ring" }));
    this.lines = repeat(model.n, () => add(lines, "line"));
    this.arrows = repeat(model.n, () => add(arrows, "path"));
    this.anchors = repeat(model.weights ? model.weights.length / model.state.d : 0, (c) => this.anchor(weights, c));
    this.items = repeat(model.n, (i) => this.item(items, i));
    this.svg.classList.toggle("fixed", model.state.mode === "encoder");
  }

  /** Turn a sphere so that the query is seen from the front. */
  face() {
    const [x, y, z] = this.row(this.model.state.query);
    this.turn = { yaw: Math.atan2(-x, z) + 0.35, pitch: Math.atan2(y, Math.hypot(x, z)) - 0.25 };
  }

  item(layer, i) {
    const { labels, names, pictures } = this.model.set;
    const group = add(layer, "g", { class: `item class${labels[i] % 8}`, tabindex: i ? -1 : 0, role: "button" });
    group.dataset.item = i;
    const size = this.model.n > 30 ? SIZE * 0.6 : SIZE;
    add(group, "circle", { class: "ask", r: size * 0.95 });
    add(group, "path", { class: "frame", d: polygon(SIDES[labels[i] % SIDES.length], size * 0.72) });
    if (pictures[i]) {
      add(group, "image", { href: pictures[i], x: -size / 2, y: -size / 2, width: size, height: size });
    }
    add(group, "title").textContent = names[i];
    return group;
  }

  anchor(layer, c) {
    const group = add(layer, "g", { class: `anchor class${c % 8}` });
    if (this.model.free) add(group, "circle");
    add(group, "path", { d: polygon(4, 0.07) });
    add(group, "title").textContent = `${this.model.free ? "Anchor" : "Class weight"} of ${this.model.set.kinds[c]}`;
    return group;
  }

  /** Put everything where it is now; measured: as `Model.measure` gives it, list: the query's ranked list. */
  draw(measured, list) {
    const { model } = this;
    const { d, query } = model.state;
    const places = model.places;
    const at = (rows, i) => this.project(rows.subarray(i * d, (i + 1) * d));
    const spots = repeat(model.n, (i) => at(places, i));
    const centres = this.anchors.map((_, c) => at(this.shown(model.weights), c));
    this.fit([
      ...spots,
      ...centres.flatMap(({ x, y }) =>
        [-1, 1].map((way) => {
          const radius = way * (this.model.free ? this.model.knobs.m : 0); // an anchor's circle is seen whole
          return { x: x + radius, y: y + radius };
        }),
      ),
    ]);
    if (d === 3) this.rings.forEach((ring, axis) => ring.setAttribute("d", this.greatCircle(axis)));
    this.anchors.forEach((group, c) => {
      move(group, centres[c]);
      if (model.free) group.firstChild.setAttribute("r", model.knobs.m);
    });
    const places3 = new Map(list.map((one) => [one.item, one]));
    this.items.forEach((group, i) => {
      move(group, spots[i]);
      group.classList.toggle("query", i === query);
      group.classList.toggle("behind", spots[i].depth < 0);
      group.setAttribute("aria-label", this.words(i, spots[i], places3.get(i)));
      group.setAttribute("aria-pressed", i === query);
    });
    this.drawForces(measured, spots);
    this.drawLines(measured, spots, list);
  }

  /** Class weights count by their direction, anchors as they are. */
  shown(weights) {
    if (this.model.free) return Float64Array.from(weights);
    const { d } = this.model.state;
    const out = Float64Array.from(weights);
    for (let c = 0; c < out.length / d; c++) {
      const row = out.subarray(c * d, (c + 1) * d);
      const length = Math.hypot(...row) || 1;
      row.forEach((part, t) => (row[t] = (part / length) * 1.12)); // outside the circle, beside the items
    }
    return out;
  }

  words(i, spot, listed) {
    const { names } = this.model.set;
    if (!listed) return `${names[i]}, the query`;
    const degrees = Math.round((Math.atan2(-spot.y, spot.x) * 180) / Math.PI);
    const where = this.model.state.d === 2 ? `, at ${degrees} degrees` : "";
    return `${names[i]}, rank ${listed.place}, ${listed.right ? "right" : "wrong"}${where}`;
  }

  /** Arrows to where a step would push each item, relative to the strongest one. */
  drawForces({ gradient }, spots) {
    const { n, places, state, mover } = this.model;
    const rows = mover.rows;
    const ends = repeat(n, (i) => {
      const row = places.subarray(i * state.d, (i + 1) * state.d);
      const push = gradient.subarray(i * state.d, (i + 1) * state.d);
      return { row, push, strength: Math.hypot(...push) * length(rows, i, state.d) }; // the slope at length 1
    });
    const strongest = Math.max(...ends.map(({ strength }) => strength));
    this.strongest = strongest * n;
    this.arrows.forEach((arrow, i) => {
      const { row, push, strength } = ends[i];
      const long = strongest > 1e-12 ? LONGEST * this.zoom * Math.sqrt(strength / strongest) : 0;
      if (long < 0.03 * this.zoom) return arrow.setAttribute("d", "");
      const scale = long / (Math.hypot(...push) || 1);
      const tip = this.project(row.map((part, t) => part - push[t] * scale));
      arrow.setAttribute("d", arrowPath(spots[i], tip, 0.035 * this.zoom));
    });
  }

  /** Lines from the query to what it feels: whole where it pulls, dashed where it pushes away. */
  drawLines({ pairs }, spots, list) {
    const { n, state } = this.model;
    const felt = list.map(({ item }) => pairs[state.query * n + item]);
    const most = Math.max(1e-12, ...felt.map(Math.abs));
    this.lines.forEach((line) => line.setAttribute("class", "none"));
    list.forEach(({ item }, at) => {
      const share = Math.abs(felt[at]) / most;
      if (share < 0.01) return;
      const line = this.lines[item];
      line.setAttribute("class", felt[at] < 0 ? "pull" : "push");
      line.style.strokeWidth = (0.008 + 0.03 * share) * this.zoom;
      const ends = { x1: spots[state.query].x, y1: spots[state.query].y, x2: spots[item].x, y2: spots[item].y };
      for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
    });
  }

  /** A row on the page: x to the right, y down, depth towards the eye. */
  project(row) {
    if (row.length === 2) return { x: row[0], y: -row[1], depth: 1 };
    if (row.length === 3) {
      const [x, y, z] = this.turned(row);
      return { x, y: -y, depth: z };
    }
    const along = (axis) => row.reduce((sum, part, t) => sum + part * axis[t], 0);
    return { x: along(this.basis[0]), y: -along(this.basis[1]), depth: 1 };
  }

  turned([x, y, z]) {
    const { yaw, pitch } = this.turn;
    const [c, s, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const right = c * x + s * z;
    const deep = -s * x + c * z;
    return [right, cp * y - sp * deep, sp * y + cp * deep];
  }

  /** The row of a place on the page, for the item that stands at `row` now. */
  unproject(x, y, row) {
    if (row.length === 2) return [x, -y];
    if (row.length > 3) {
      const now = this.project(row);
      return row.map((part, t) => part + (x - now.x) * this.basis[0][t] + (now.y - y) * this.basis[1][t]);
    }
    const { yaw, pitch } = this.turn;
    const [c, s, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const flat = Math.hypot(x, y);
    const [a, b] = flat > 1 ? [x / flat, -y / flat] : [x, -y];
    const near = Math.sqrt(Math.max(0, 1 - a * a - b * b));
    const height = cp * b + sp * near;
    const deep = -sp * b + cp * near;
    return [c * a - s * deep, height, s * a + c * deep];
  }

  greatCircle(axis) {
    const points = repeat(49, (i) => {
      const angle = (i / 48) * 2 * Math.PI;
      const row = [Math.cos(angle), Math.sin(angle)];
      row.splice(axis, 0, 0);
      const { x, y } = this.project(row);
      return `${x.toFixed(3)} ${y.toFixed(3)}`;
    });
    return `M${points.join("L")}`;
  }

  /** Free points may run far: the page shows all of them, and grows or shrinks in steps that an eye can follow. */
  fit(spots) {
    const far = Math.max(1.12, ...spots.map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y))));
    const zoom = this.model.free ? far : Math.min(far, 1.12);
    const lost = !this.zoom || zoom > this.zoom || zoom < 0.6 * this.zoom;
    if (lost || !this.model.free) this.zoom = zoom * (this.model.free ? 1.1 : 1);
    const half = 1.12 * this.zoom + 0.05;
    this.svg.setAttribute("viewBox", `${-half} ${-half} ${2 * half} ${2 * half}`);
    this.svg.style.setProperty("--unit", this.zoom);
  }

  here(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [x, y];
  }

  take(event) {
    const group = event.target.closest?.(".item");
    if (group) {
      const item = Number(group.dataset.item);
      this.handlers.onQuery(item);
      group.focus({ preventScroll: true });
      if (this.model.state.mode === "points") this.held = { item };
    } else if (this.model.state.d === 3) {
      this.held = { from: [event.clientX, event.clientY], turn: { ...this.turn } };
    }
    if (this.held) this.svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  pull(event) {
    if (!this.held) return;
    if (this.held.from) {
      const [x, y] = this.held.from;
      this.turn.yaw = this.held.turn.yaw + (event.clientX - x) / 150;
      this.turn.pitch = Math.max(-1.5, Math.min(1.5, this.held.turn.pitch + (event.clientY - y) / 150));
      return this.handlers.onTurn();
    }
    this.handlers.onPlace(this.held.item, this.unproject(...this.here(event), this.row(this.held.item)));
  }

  row(i) {
    const { d } = this.model.state;
    return [...this.model.places.subarray(i * d, (i + 1) * d)];
  }

  /** Arrow keys move the item that has the focus; Page Up and Down, Home and End go from item to item. */
  nudge(event) {
    const group = event.target.closest?.(".item");
    if (!group) return;
    const item = Number(group.dataset.item);
    const next = { PageUp: item - 1, PageDown: item + 1, Home: 0, End: this.model.n - 1 }[event.key];
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (next !== undefined) this.focus((next + this.model.n) % this.model.n);
    else if (["Enter", " "].includes(event.key)) this.handlers.onQuery(item);
    else if (way && this.model.state.mode === "points") this.moveBy(item, way, event.shiftKey ? NUDGE / 5 : NUDGE);
    else return;
    event.preventDefault();
  }

  moveBy(item, [right, down], far) {
    const row = this.row(item);
    if (row.length === 2 && !this.model.free) {
      const angle = Math.atan2(row[1], row[0]) - (right || down) * far; // on the circle: clockwise and back
      return this.handlers.onPlace(item, [Math.cos(angle), Math.sin(angle)]);
    }
    const { x, y } = this.project(row);
    this.handlers.onPlace(item, this.unproject(x + right * far * this.zoom, y + down * far * this.zoom, row));
  }

  focus(i) {
    this.items.forEach((group, at) => group.setAttribute("tabindex", at === i ? 0 : -1));
    this.items[i].focus();
  }
}

function add(parent, name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

const repeat = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const move = (group, { x, y }) => group.setAttribute("transform", `translate(${x.toFixed(4)} ${y.toFixed(4)})`);
const length = (rows, i, d) => Math.hypot(...rows.subarray(i * d, (i + 1) * d));

/** A closed path of some corners around the middle; of none a circle. */
function polygon(corners, radius) {
  const half = (way) => `a${radius} ${radius} 0 1 0 ${way * 2 * radius} 0`;
  if (!corners) return `M${-radius} 0${half(1)}${half(-1)}`;
  const wide = radius * 1.12;
  const points = repeat(corners, (i) => {
    const angle = (i / corners) * 2 * Math.PI - Math.PI / 2;
    return `${(wide * Math.cos(angle)).toFixed(4)} ${(wide * Math.sin(angle)).toFixed(4)}`;
  });
  return `M${points.join("L")}Z`;
}

function arrowPath(from, to, head) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const barb = (turn) => `${to.x - head * Math.cos(angle + turn)} ${to.y - head * Math.sin(angle + turn)}`;
  return `M${from.x} ${from.y}L${to.x} ${to.y}M${barb(0.5)}L${to.x} ${to.y}L${barb(-0.5)}`;
}

/** The two directions in which rows differ most, by power iteration. */
function principalPlane(rows, n, d) {
  const axes = [];
  for (let a = 0; a < 2; a++) {
    let axis = repeat(d, (t) => (t === a ? 1 : 0.1));
    for (let i = 0; i < 60; i++) {
      const next = repeat(d, () => 0);
      for (let q = 0; q < n; q++) {
        const along = axis.reduce((sum, part, t) => sum + part * rows[q * d + t], 0);
        next.forEach((_, t) => (next[t] += along * rows[q * d + t]));
      }
      for (const other of axes) {
        const along = next.reduce((sum, part, t) => sum + part * other[t], 0);
        next.forEach((_, t) => (next[t] -= along * other[t]));
      }
      const size = Math.hypot(...next) || 1;
      axis = next.map((part) => part / size);
    }
    axes.push(axis);
  }
  return axes;
}
