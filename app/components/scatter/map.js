// Draws the records of app/components/scatter/__init__.py: points by painter.js, what lies above them (lines, lasso,
// contours, pictures) on a canvas. Names come from users and files: they go in as text. Long columns come as binary
// files, each fetched once. What a person did (zoom, lasso, filter) is kept here between two answers of the server, as
// long as the points are the same ones.

import { Filters } from "./filters.js";
import { Legend, REDUCED } from "./legend.js";
import { inside, make } from "./marks.js";
import { Memory } from "./memory.js";
import { Overlay } from "./overlay.js";
import { BRIGHT, FAINT, HIDDEN, MARKS, Painter, parts } from "./painter.js";

const HINT = {
  lasso: "Draw around points to list them · click one for its neighbours · Ctrl + wheel zooms",
  move: "Drag to move · click a point for its neighbours · Ctrl + wheel zooms",
};
const FRAME = 33; // milliseconds; while the map moves, fewer points are drawn when a frame takes longer
const CROWDED = 1_000; // points from which they are drawn without outlines, and let others shine through
const FEWEST = 30_000; // points that are drawn even so, a random sample
const LISTED = 2_000; // points of a selection up to which their ids are sent, else a bit for each point
const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array };
const fetched = new Map(); // address of a column to a promise of it: the latest ones

function column(address) {
  if (!fetched.has(address)) {
    const type = TYPES[address.split(".").pop()];
    fetched.set(address, fetch(address).then(async (answer) => {
      if (!answer.ok) throw new Error(`the points could not be fetched (${answer.status})`);
      return new type(await answer.arrayBuffer());
    }));
    fetched.get(address).catch(() => fetched.delete(address));
    if (fetched.size > 40) fetched.delete(fetched.keys().next().value);
  }
  return fetched.get(address);
}

// The same shuffle every time, so that the first points drawn are a random sample of all.
function shuffled(count) {
  const order = Uint32Array.from({ length: count }, (_, at) => at);
  for (let at = count - 1, seed = 1; at > 0; at--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = Math.floor(seed / 2 ** 32 * (at + 1));
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

export class Scatter extends Overlay(Legend(Filters(Memory(Object)))) {
  constructor(root) {
    super();
    this.root = root;
    this.mode = "lasso";
    this.mixed = 1;
    this.pictured = this.named = true;
    this.brushed = new Map(); // filter's name to the values that it lets through
    this.stage = make("div", "stage");
    this.ground = make("div", "ground");
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.tip = make("div", "tip");
    this.tip.hidden = true;
    this.hint = make("p", "hint");
    this.legend = make("div", "legend");
    this.filters = make("details", "filters");
    this.ways = make("div", "ways");
    const surface = make("canvas");
    this.ground.append(surface);
    this.stage.append(this.ground, this.canvas, this.hint, this.drawTools(), this.tip);
    const side = make("div", "side");
    side.append(this.legend, this.filters);
    const main = make("div", "main");
    main.append(this.stage, this.ways);
    root.replaceChildren(main, side);
    try {
      this.painter = new Painter(surface);
    } catch {
      this.stage.append(make("p", "missing", "This browser shows no map: it has no WebGL 2. The lists below still work."));
    }
    this.filters.addEventListener("toggle", () => this.data && this.drawFilters());
    this.listen();
    this.setMode("lasso");
    new ResizeObserver(() => this.resize()).observe(this.stage);
  }

  // The newest answer of the server wins, whatever order its columns come in.
  async show(data, send) {
    this.wanted = data;
    this.send = send;
    const { files } = data;
    const all = Object.entries(files);
    let columns;
    try {
      columns = Object.fromEntries(await Promise.all(all.map(async ([name, file]) => [name, await column(file)])));
    } catch (error) {
      this.hint.textContent = `The map could not be loaded: ${error.message}. Reload the page.`;
      return;
    }
    if (this.wanted !== data) return;
    this.take(data, columns);
  }

  take(data, columns) {
    const first = !this.data, same = this.data && this.data.of === data.of;
    const before = same ? this.now : null;
    const moved = !same || columns.after !== this.columns.after || columns.before !== this.columns.before;
    const fitted = this.view && this.view.scale === this.view.fit;
    const otherView = data.pair?.view !== this.data?.pair?.view;
    if (!same) {
      this.brushed.clear();
      this.order = shuffled(data.count);
      this.place = null;
      this.filters.open = Boolean(data.pair); // what two spaces share is a histogram to look at
    }
    this.data = data;
    if (first) this.recallFilters(data.kept);
    this.columns = columns;
    this.ids = columns.ids;
    this.known = JSON.parse(new TextDecoder().decode(columns.known));
    this.readSelection();
    if (moved) this.lasso = null;
    if (!same || (fitted && (moved || otherView))) this.view = null;
    if (moved) this.density = null;
    this.loaded = this.loaded && same;
    if (moved) this.settle(before);
    this.filter();
    this.canvas.setAttribute("aria-label", data.alt);
    this.stage.removeAttribute("aria-busy");
    this.stage.classList.toggle("two", this.panes().length > 1);
    this.drawWays();
    this.drawLegend();
    this.drawFilters();
    this.resize();
    if (first && this.view) this.recallZoom(data.kept);
    this.draw();
  }

  readSelection() {
    const { count } = this.data, bits = this.columns.selected;
    this.chosen = new Uint8Array(count);
    this.chosenCount = 0;
    for (let at = 0; bits && at < count; at++) {
      this.chosen[at] = bits[at >> 3] >> (7 - (at & 7)) & 1;
      this.chosenCount += this.chosen[at];
    }
  }

  rowOf(id) {
    this.place ??= new Map(Array.from(this.ids, (one, at) => [one, at]));
    return this.place.get(id);
  }

  // Points that are known already walk to their new places, so that the eye can follow them.
  settle(before) {
    const { columns, data } = this;
    this.from = columns.before ?? columns.after;
    this.to = columns.after;
    this.mixed = data.pair ? (before ? this.mixed : 0) : 1;
    if (data.pair || !before || REDUCED.matches) return;
    this.from = before;
    this.mixed = 0;
    this.travel(1, 450);
  }

  get now() {
    return this.mixed === 1 || !this.from ? this.to : this.from.map((one, at) => one + (this.to[at] - one) * this.mixed);
  }

  // Let the points walk to a place between before (0) and after (1).
  travel(goal, duration) {
    const { data, mixed: start } = this, begun = performance.now();
    const step = (now) => {
      if (this.data.of !== data.of) return;
      const share = Math.min(1, Math.max(0, (now - begun) / duration));
      this.mixed = start + (goal - start) * share * share * (3 - 2 * share);
      if (this.slider) this.slider.value = this.mixed;
      this.moving();
      if (share < 1) this.travelling = requestAnimationFrame(step);
    };
    cancelAnimationFrame(this.travelling);
    this.travelling = requestAnimationFrame(step);
  }

  // --- places ---------------------------------------------------------------------------------------------------

  panes() {
    if (!this.data?.pair || this.data.pair.view === "one") return [{ left: 0, width: this.width, mixed: this.mixed }];
    return [0, 1].map((one) => ({ left: one * this.width / 2, width: this.width / 2, mixed: one }));
  }

  paneAt(px) {
    return this.panes().find((pane) => px < pane.left + pane.width) ?? this.panes()[0];
  }

  resize() {
    const box = this.stage.getBoundingClientRect();
    if (!box.width || !this.data) return;
    const dense = window.devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    for (const canvas of [this.canvas, this.ground.firstChild]) {
      canvas.width = Math.round(box.width * dense);
      canvas.height = Math.round(box.height * dense);
    }
    this.dense = dense;
    if (!this.view) this.reset();
    this.draw();
  }

  reset() {
    if (!this.data) return;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const places of this.data.pair ? [this.from, this.to] : [this.to])
      for (let at = 0; at < places.length; at += 2) {
        left = Math.min(left, places[at]); right = Math.max(right, places[at]);
        low = Math.min(low, places[at + 1]); high = Math.max(high, places[at + 1]);
      }
    const wide = this.panes()[0].width;
    const scale = 0.92 * Math.min(wide / Math.max(1e-6, right - left), (this.height - 30) / Math.max(1e-6, high - low));
    const home = [(left + right) / 2, (low + high) / 2];
    this.view = { scale, fit: scale, x: home[0], y: home[1], home };
  }

  inPane([u, v], pane) {
    const { scale, x, y } = this.view;
    return [pane.left + pane.width / 2 + (u - x) * scale, this.height / 2 - (v - y) * scale];
  }

  inPlane(at, mixed) {
    const { from, to } = this;
    return [0, 1].map((axis) => from[2 * at + axis] + (to[2 * at + axis] - from[2 * at + axis]) * mixed);
  }

  onScreen(at, pane) {
    return this.inPane(this.inPlane(at, pane.mixed), pane);
  }

  inWorld(px, py, pane = this.paneAt(px)) {
    const { scale, x, y } = this.view;
    return [x + (px - pane.left - pane.width / 2) / scale, y - (py - this.height / 2) / scale];
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    if (!this.view) return;
    const pane = this.paneAt(px), [x, y] = this.inWorld(px, py, pane);
    this.view.scale = Math.min(2000 * this.view.fit, Math.max(0.5 * this.view.fit, this.view.scale * factor));
    const [nx, ny] = this.inWorld(px, py, pane);
    this.view.x += x - nx;
    this.view.y += y - ny;
    this.moving();
  }

  shift(dx, dy) {
    if (!this.view) return;
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.moving();
  }

  near(px, py, reach = 12) {
    const pane = this.paneAt(px), [u, v] = this.inWorld(px, py, pane);
    let best = null, least = (reach / this.view.scale) ** 2;
    const { from, to } = this, mixed = pane.mixed;
    for (let at = 0; at < this.data.count; at++) {
      if (!this.passing[at]) continue;
      const dx = from[2 * at] + (to[2 * at] - from[2 * at]) * mixed - u;
      const dy = from[2 * at + 1] + (to[2 * at + 1] - from[2 * at + 1]) * mixed - v;
      if (dx * dx + dy * dy < least) [best, least] = [at, dx * dx + dy * dy];
    }
    return best;
  }

  within(lasso, mixed) {
    const xs = lasso.map(([x]) => x), ys = lasso.map(([, y]) => y);
    const box = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const rows = [];
    for (let at = 0; at < this.data.count; at++) {
      if (!this.passing[at]) continue;
      const [u, v] = this.inPlane(at, mixed);
      if (u >= box[0] && u <= box[1] && v >= box[2] && v <= box[3] && inside(u, v, lasso)) rows.push(at);
    }
    return rows;
  }

  // Side by side the trails of all points would hide the second map; there they follow a selection.
  get trailed() {
    return this.data.pair && (this.data.pair.view === "one" || this.chosenCount > 0);
  }

  // --- drawing --------------------------------------------------------------------------------------------------

  get size() {
    const grown = Math.min(2.6, Math.max(1, (this.view.scale / this.view.fit) ** 0.35));
    return grown * Math.min(5.5, Math.max(0.6, 60 / Math.sqrt(this.data.count) + (this.data.count > 50_000 ? 0.5 : 1.9)));
  }

  // Something is on its way: fewer points may be drawn until it rests.
  moving() {
    this.inMotion = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => { this.inMotion = false; this.last = 0; this.draw(); }, 160);
    this.draw();
  }

  // At most once a frame: a mouse reports its place far more often than a screen shows one.
  draw() {
    this.remember();
    if (this.waiting) return;
    this.waiting = requestAnimationFrame((now) => { this.waiting = 0; this.paint(now); });
  }

  budget(now) {
    const { count } = this.data;
    if (!this.inMotion) return count;
    const taken = this.last ? now - this.last : FRAME;
    this.last = now;
    this.most ??= Math.min(count, 250_000);
    if (taken > 1.15 * FRAME) this.most = Math.max(FEWEST, this.most * Math.max(0.4, FRAME / taken));
    else if (taken < 0.75 * FRAME) this.most = Math.min(count, this.most * 1.15);
    return Math.round(this.most);
  }

  paint(now) {
    if (!this.view) return;
    const pen = this.canvas.getContext("2d"), ink = getComputedStyle(this.root).color;
    pen.setTransform(this.dense, 0, 0, this.dense, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    if (this.painter) this.paintPoints(ink, this.budget(now));
    for (const pane of this.panes()) {
      pen.save();
      pen.beginPath();
      pen.rect(pane.left, 0, pane.width, this.height);
      pen.clip();
      if (this.contoured) this.drawDensity(pen, ink, pane);
      if (this.trailed) this.drawTrails(pen, ink, pane);
      this.drawPictures(pen, ink, pane);
      this.drawNames(pen, ink, pane);
      this.drawLines(pen, ink, pane);
      this.drawLasso(pen, ink, pane);
      pen.restore();
    }
    if (this.panes().length > 1) this.drawDivide(pen, ink);
    if (this.byKey && this.root.getRootNode().activeElement === this.canvas) this.drawAim(pen, ink);
  }

  paintPoints(ink, most) {
    const { painter, data, dense } = this, { legend } = data;
    const crowded = data.count > CROWDED; // outlines would hide how densely the points lie
    const [strong, light] = [parts(ink), data.count > 50_000 ? 0.35 : crowded ? 0.6 : 0.9];
    const grey = [...strong.slice(0, 3), 0.42];
    painter.clear();
    for (const pane of this.panes())
      painter.draw({
        pane: { left: Math.round(pane.left * dense), width: Math.round(pane.width * dense), height: painter.canvas.height },
        middle: [this.view.x, this.view.y], scale: this.view.scale * dense, mixed: pane.mixed, size: 2.4 * this.size * dense,
        faint: 0.16, ink: strong, outline: crowded ? 0 : 0.55, most,
        colours: legend.map((one) => (one.colour ? [...parts(one.colour).slice(0, 3), light] : grey)),
        marks: legend.map((one) => MARKS.indexOf(one.mark)),
      });
  }

  // What the painter holds: all of it anew, or what each point's state has become.
  load() {
    if (!this.painter) return;
    const { order, columns } = this;
    const picked = this.chosenCount ? null : this.picked();
    const states = Uint8Array.from(order, (at) => {
      if (!this.passing[at]) return HIDDEN;
      if (this.chosenCount) return this.chosen[at] ? BRIGHT : FAINT;
      return !picked.size || picked.has(at) ? BRIGHT : FAINT;
    });
    const sorted = (places) => {
      const to = new Float32Array(places.length);
      order.forEach((at, row) => { to[2 * row] = places[2 * at]; to[2 * row + 1] = places[2 * at + 1]; });
      return to;
    };
    const categories = Uint8Array.from(order, (at) => columns.categories[at]);
    if (!this.loaded) {
      this.painter.load({ before: sorted(this.from), after: sorted(this.to), categories, states });
    } else {
      if (this.held.from !== this.from) this.painter.change("before", sorted(this.from));
      if (this.held.to !== this.to) this.painter.change("after", sorted(this.to));
      if (this.held.categories !== columns.categories) this.painter.change("category", categories);
      this.painter.change("state", states);
    }
    this.loaded = true;
    this.held = { from: this.from, to: this.to, categories: columns.categories };
  }

  picked() {
    if (this.data.picked === null || this.rowOf(this.data.picked) === undefined) return new Set();
    const ends = [this.data.picked, ...this.data.lines.map((line) => line.to)];
    return new Set(ends.map((id) => this.rowOf(id)).filter((at) => at !== undefined));
  }

  // --- what a person does ---------------------------------------------------------------------------------------

  setMode(mode) {
    this.mode = mode;
    for (const [name, button] of Object.entries(this.modes)) button.setAttribute("aria-pressed", String(name === mode));
    this.stage.classList.toggle("moving", mode === "move");
    this.hint.textContent = HINT[mode];
  }

  choose(rows) {
    const { count } = this.data;
    this.chosen = new Uint8Array(count);
    this.chosenCount = rows.length;
    for (const at of rows) this.chosen[at] = 1;
    this.load();
    this.drawLegend();
    this.draw();
    if (rows.length <= LISTED) return this.send("lassoed", { ids: rows.map((at) => this.ids[at]) });
    const bits = new Uint8Array(Math.ceil(count / 8));
    for (const at of rows) bits[at >> 3] |= 128 >> (at & 7);
    this.send("lassoed", { bits: base64(bits) });
  }

  pick(at) {
    this.send("picked", { id: this.ids[at] });
  }

  listen() {
    const canvas = this.canvas;
    const where = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null, far = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || !this.view) return;
      this.byKey = false;
      canvas.setPointerCapture(event.pointerId);
      from = where(event);
      far = 0;
      this.pane = this.paneAt(from[0]);
      this.trace = this.mode === "lasso" && !event.shiftKey ? [this.inWorld(...from, this.pane)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = where(event);
      if (!from) return this.hover(x, y);
      if (!this.data) return;
      this.tip.hidden = true;
      far = Math.max(far, Math.hypot(x - from[0], y - from[1]));
      if (far < 5) return;
      if (this.trace) {
        this.trace.push(this.inWorld(x, y, this.pane));
        this.lasso = this.trace;
        this.lasso.left = this.pane.left;
        this.draw();
      } else {
        this.shift(event.movementX, event.movementY);
      }
    });
    const end = (event) => {
      if (!from) return;
      const [x, y] = where(event);
      from = null;
      if (far < 5) {
        const at = this.near(x, y);
        if (at !== null) this.pick(at);
      } else if (this.trace) {
        this.choose(this.within(this.trace, this.pane.mixed));
      }
      this.trace = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", () => { from = null; this.trace = null; });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), ...where(event));
    }, { passive: false });
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = { ArrowLeft: [30, 0], ArrowRight: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] }[event.key];
    if (["Control", "Meta", "Shift", "Alt"].includes(event.key)) return;
    this.byKey = true;
    if (step) this.shift(...step);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") { this.reset(); this.moving(); }
    else if (event.key === "Escape") { this.lasso = null; this.choose([]); }
    else if (event.key === "Enter") {
      const at = this.near(this.width / 2, this.height / 2, 60);
      if (at !== null) this.pick(at);
    } else return;
    event.preventDefault();
  }

  // Beside the mouse where it covers no line, else in a corner.
  placeTip(x, y) {
    const { offsetWidth: wide, offsetHeight: high } = this.tip, pane = this.paneAt(x);
    const from = this.data.picked === null ? undefined : this.rowOf(this.data.picked);
    const ends = from === undefined ? [] : this.data.lines.map((line) => this.rowOf(line.to)).filter((at) => at !== undefined);
    const points = [];
    for (const to of ends) {
      const [[a, b], [c, d]] = [this.onScreen(from, pane), this.onScreen(to, pane)];
      for (let share = 0; share <= 1; share += 0.02) points.push([a + (c - a) * share, b + (d - b) * share]);
    }
    const [right, low] = [this.width - wide - 6, this.height - high - 6];
    const beside = [[x + 14, y + 14], [x - 14 - wide, y + 14], [x + 14, y - 14 - high], [x - 14 - wide, y - 14 - high]];
    const places = [...beside.filter(([u, v]) => u >= 6 && v >= 6 && u <= right && v <= low), [right, low], [6, low], [6, 6], [right, 6]];
    const covered = ([u, v]) => points.filter(([px, py]) => px > u - 4 && px < u + wide + 4 && py > v - 4 && py < v + high + 4).length;
    const [left, top] = places.reduce((best, one) => (covered(one) < covered(best) ? one : best));
    Object.assign(this.tip.style, { left: `${left}px`, top: `${top}px` });
  }

  hover(x, y) {
    if (!this.view) return;
    const at = this.near(x, y);
    this.tip.hidden = at === null;
    if (at === null) return;
    const name = this.known[this.columns.names[at]], line = this.data.legend[this.columns.categories[at]];
    const category = line.name;
    const words = make("span", "", category === name || !line.colour ? name : `${name} (${category})`);
    const address = this.data.pictures ? `${this.data.pictures}${this.ids[at]}` : "";
    if (this.tip.dataset.of !== `${at} ${address}`) {
      this.tip.dataset.of = `${at} ${address}`;
      const picture = make("img");
      Object.assign(picture, { src: address, alt: "", onerror: () => picture.remove() });
      this.tip.replaceChildren(...(address ? [picture] : []), words);
    }
    this.placeTip(x, y);
  }
}
