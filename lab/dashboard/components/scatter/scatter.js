// Draws the records of lab/dashboard/components/scatter/__init__.py: points by painter.js, what lies above them (lines, lasso,
// contours, pictures) on a canvas. Names come from users and files: they go in as text. Long columns come as binary
// files, each fetched once. What a person did (zoom, lasso, filter) is kept here between two answers of the server, as
// long as the points are the same ones.

const RIGHT = "#0072b2", WRONG = "#d55e00";
const HINT = {
  lasso: "Draw around points to list them · click one for its neighbours · Ctrl + wheel zooms",
  move: "Drag to move · click a point for its neighbours · Ctrl + wheel zooms",
};
const FRAME = 33; // milliseconds; while the map moves, fewer points are drawn when a frame takes longer
const FEWEST = 30_000; // points that are drawn even so, a random sample
const PICTURES = 120; // points on screen up to which pictures are shown in their place
const TRAILS = 200; // points that moved most, whose way is drawn
const LISTED = 2_000; // points of a selection up to which their ids are sent, else a bit for each point
const GRID = 160; // cells across the map for its density
const REDUCED = matchMedia("(prefers-reduced-motion: reduce)");

const TAU = 2 * Math.PI;

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function polygon(path, x, y, r, corners, turn) {
  for (let at = 0; at < corners; at++) {
    const angle = turn + at * TAU / corners;
    path[at ? "lineTo" : "moveTo"](x + r * Math.cos(angle), y + r * Math.sin(angle));
  }
  path.closePath();
}

function bars(path, x, y, r, turn) {
  // A plus of two bars, turned.
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  const w = r * 0.36;
  const corners = [[-w, -r], [w, -r], [w, -w], [r, -w], [r, w], [w, w], [w, r], [-w, r], [-w, w], [-r, w], [-r, -w], [-w, -w]];
  corners.forEach(([u, v], at) => path[at ? "lineTo" : "moveTo"](x + u * c - v * s, y + u * s + v * c));
  path.closePath();
}

const SHAPES = {
  dot: (path, x, y, r) => { path.moveTo(x + r * 0.7, y); path.arc(x, y, r * 0.7, 0, TAU); },
  circle: (path, x, y, r) => { path.moveTo(x + r, y); path.arc(x, y, r, 0, TAU); },
  square: (path, x, y, r) => path.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76),
  triangle: (path, x, y, r) => polygon(path, x, y + r * 0.15, r * 1.2, 3, -TAU / 4),
  diamond: (path, x, y, r) => polygon(path, x, y, r * 1.2, 4, 0),
  plus: (path, x, y, r) => bars(path, x, y, r * 1.15, 0),
  cross: (path, x, y, r) => bars(path, x, y, r * 1.2, TAU / 8),
  star: (path, x, y, r) => {
    for (let at = 0; at < 10; at++) {
      const angle = -TAU / 4 + at * TAU / 10, far = at % 2 ? r * 0.55 : r * 1.3;
      path[at ? "lineTo" : "moveTo"](x + far * Math.cos(angle), y + far * Math.sin(angle));
    }
    path.closePath();
  },
  pentagon: (path, x, y, r) => polygon(path, x, y, r * 1.1, 5, -TAU / 4),
};

function inside(x, y, lasso) {
  let odd = false;
  for (let a = 0, b = lasso.length - 1; a < lasso.length; b = a++) {
    const [xa, ya] = lasso[a], [xb, yb] = lasso[b];
    if ((ya > y) !== (yb > y) && x < (xb - xa) * (y - ya) / (yb - ya) + xa) odd = !odd;
  }
  return odd;
}

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

class Scatter {
  constructor(root, code) {
    this.root = root;
    this.code = code;
    this.mode = "lasso";
    this.mixed = 1;
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
      this.painter = new code.Painter(surface);
    } catch {
      this.stage.append(make("p", "missing", "This browser shows no map: it has no WebGL 2. The lists below still work."));
    }
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
    const same = this.data && this.data.of === data.of;
    const before = same ? this.now : null;
    const moved = !same || columns.after !== this.columns.after || columns.before !== this.columns.before;
    const fitted = this.view && this.view.scale === this.view.fit;
    if (!same) {
      this.brushed.clear();
      this.order = shuffled(data.count);
      this.place = null;
    }
    this.data = data;
    this.columns = columns;
    this.ids = columns.ids;
    this.readSelection();
    if (moved) this.lasso = null;
    if (!same || (moved && fitted)) this.view = null;
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
    this.mixed = data.pair ? this.mixed : 1;
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
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const places of this.data.pair ? [this.from, this.to] : [this.to])
      for (let at = 0; at < places.length; at += 2) {
        left = Math.min(left, places[at]); right = Math.max(right, places[at]);
        low = Math.min(low, places[at + 1]); high = Math.max(high, places[at + 1]);
      }
    const wide = this.panes()[0].width;
    const scale = 0.92 * Math.min(wide / Math.max(1e-6, right - left), (this.height - 30) / Math.max(1e-6, high - low));
    this.view = { scale, fit: scale, x: (left + right) / 2, y: (low + high) / 2 };
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
    const pane = this.paneAt(px), [x, y] = this.inWorld(px, py, pane);
    this.view.scale = Math.min(2000 * this.view.fit, Math.max(0.5 * this.view.fit, this.view.scale * factor));
    const [nx, ny] = this.inWorld(px, py, pane);
    this.view.x += x - nx;
    this.view.y += y - ny;
    this.moving();
  }

  shift(dx, dy) {
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
      if (this.data.pair) this.drawTrails(pen, ink, pane);
      if (!this.inMotion) this.drawPictures(pen, ink, pane);
      this.drawLines(pen, ink, pane);
      this.drawLasso(pen, ink, pane);
      pen.restore();
    }
    if (this.panes().length > 1) this.drawDivide(pen, ink);
    if (this.byKey && this.root.getRootNode().activeElement === this.canvas) this.drawAim(pen, ink);
  }

  paintPoints(ink, most) {
    const { painter, data, dense } = this, { legend } = data;
    const [strong, light] = [this.code.parts(ink), data.count > 50_000 ? 0.6 : 0.9];
    const grey = [...strong.slice(0, 3), 0.42];
    painter.clear();
    for (const pane of this.panes())
      painter.draw({
        pane: { left: Math.round(pane.left * dense), width: Math.round(pane.width * dense), height: painter.canvas.height },
        middle: [this.view.x, this.view.y], scale: this.view.scale * dense, mixed: pane.mixed, size: 2 * this.size * dense,
        faint: 0.16, ink: strong, most,
        colours: legend.map((one) => (one.colour ? [...this.code.parts(one.colour).slice(0, 3), light] : grey)),
        marks: legend.map((one) => this.code.MARKS.indexOf(one.mark)),
      });
  }

  // What the painter holds: all of it anew, or what each point's state has become.
  load() {
    if (!this.painter) return;
    const { order, columns, code } = this;
    const picked = this.chosenCount ? null : this.picked();
    const states = Uint8Array.from(order, (at) => {
      if (!this.passing[at]) return code.HIDDEN;
      if (this.chosenCount) return this.chosen[at] ? code.BRIGHT : code.FAINT;
      return !picked.size || picked.has(at) ? code.BRIGHT : code.FAINT;
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

  // Contours of how many points lie where, over the whole map; counted once for each filter.
  drawDensity(pen, ink, pane) {
    if (!this.density || this.density.passing !== this.passing) this.density = { passing: this.passing, lines: {} };
    const lines = (this.density.lines[pane.mixed] ??= this.countDensity(pane.mixed));
    pen.strokeStyle = ink;
    lines.forEach((path, level) => {
      pen.globalAlpha = 0.25 + 0.5 * level / lines.length;
      pen.lineWidth = 1.2;
      pen.beginPath();
      for (const ring of path) ring.forEach((place, at) => pen[at ? "lineTo" : "moveTo"](...this.inPane(place, pane)));
      pen.stroke();
    });
    pen.globalAlpha = 1;
  }

  countDensity(mixed) {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    const { count } = this.data, places = mixed === 1 ? this.to : mixed === 0 ? this.from : this.now;
    for (let at = 0; at < count; at++) {
      left = Math.min(left, places[2 * at]); right = Math.max(right, places[2 * at]);
      low = Math.min(low, places[2 * at + 1]); high = Math.max(high, places[2 * at + 1]);
    }
    const cell = Math.max(right - left, high - low, 1e-6) / (GRID - 12), side = GRID;
    let cells = new Float64Array(side * side);
    for (let at = 0; at < count; at++) {
      if (!this.passing[at]) continue;
      cells[(6 + Math.floor((places[2 * at + 1] - low) / cell)) * side + 6 + Math.floor((places[2 * at] - left) / cell)] += 1;
    }
    for (let round = 0; round < 3; round++) for (const step of [1, side]) {
      const smooth = new Float64Array(cells.length);
      for (let at = 2 * step; at < cells.length - 2 * step; at++)
        smooth[at] = (cells[at - 2 * step] + cells[at - step] + cells[at] + cells[at + step] + cells[at + 2 * step]) / 5;
      cells = smooth;
    }
    const top = cells.reduce((most, one) => Math.max(most, one), 0);
    const levels = [0.03, 0.08, 0.18, 0.35, 0.6].map((share) => share * top);
    return this.code.contours().size([side, side]).thresholds(levels)(Array.from(cells)).map((one) =>
      one.coordinates.flat().map((ring) => ring.map(([x, y]) => [left + (x - 6) * cell, low + (y - 6) * cell])));
  }

  // The way of the points that moved most, of those that pass and are not faint.
  drawTrails(pen, ink, pane) {
    if (this.trails?.from !== this.from || this.trails?.passing !== this.passing) {
      const { from, to } = this, far = [];
      for (let at = 0; at < this.data.count; at++) {
        if (!this.passing[at]) continue;
        far.push([Math.hypot(to[2 * at] - from[2 * at], to[2 * at + 1] - from[2 * at + 1]), at]);
      }
      far.sort((a, b) => b[0] - a[0]);
      this.trails = { from, passing: this.passing, rows: far.slice(0, TRAILS).map(([, at]) => at) };
    }
    pen.strokeStyle = ink;
    const rows = this.chosenCount ? this.trails.rows.filter((at) => this.chosen[at]) : this.trails.rows;
    for (const at of rows) {
      const [x, y] = this.inPane(this.inPlane(at, 0), pane), [u, v] = this.inPane(this.inPlane(at, pane.mixed), pane);
      if (Math.hypot(x - u, y - v) < 2) continue;
      const fade = pen.createLinearGradient(x, y, u, v);
      fade.addColorStop(0, "transparent");
      fade.addColorStop(1, ink);
      pen.strokeStyle = fade;
      pen.globalAlpha = 0.5;
      pen.lineWidth = 1.2;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(u, v);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  // Zoomed in until few are left, each point is its picture, framed in its colour.
  drawPictures(pen, ink, pane) {
    const { data } = this;
    if (!data.pictures || this.view.scale < 1.5 * this.view.fit) return;
    const seen = [];
    for (let at = 0; at < data.count; at++) {
      if (!this.passing[at]) continue;
      const [x, y] = this.onScreen(at, pane);
      if (x < pane.left || y < 0 || x > pane.left + pane.width || y > this.height) continue;
      if (seen.length === PICTURES) return;
      seen.push([at, x, y]);
    }
    const side = Math.min(72, Math.max(26, 0.5 * Math.sqrt(pane.width * this.height / Math.max(1, seen.length))));
    this.images ??= new Map();
    for (const [at, x, y] of seen) {
      const address = `${data.pictures}${this.ids[at]}`;
      if (!this.images.has(address)) {
        const image = new Image();
        image.onload = () => this.draw();
        image.src = address;
        this.images.set(address, image);
        if (this.images.size > 600) this.images.delete(this.images.keys().next().value);
      }
      const image = this.images.get(address);
      if (!image.complete || !image.naturalWidth) continue;
      const grow = side / Math.max(image.naturalWidth, image.naturalHeight);
      const [w, h] = [image.naturalWidth * grow, image.naturalHeight * grow];
      pen.globalAlpha = this.chosenCount && !this.chosen[at] ? 0.3 : 1;
      pen.drawImage(image, x - w / 2, y - h / 2, w, h);
      pen.strokeStyle = data.legend[this.columns.categories[at]].colour || ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - w / 2, y - h / 2, w, h);
    }
    pen.globalAlpha = 1;
  }

  drawDivide(pen, ink) {
    pen.fillStyle = ink;
    pen.globalAlpha = 0.25;
    pen.fillRect(this.width / 2, 0, 1, this.height);
    pen.globalAlpha = 1;
    pen.font = `600 13px ${getComputedStyle(this.root).fontFamily}`;
    this.panes().forEach((pane, one) => pen.fillText(this.data.pair.names[one], pane.left + 10, 20, pane.width - 20));
  }

  drawLines(pen, ink, pane) {
    const from = this.data.picked === null ? undefined : this.rowOf(this.data.picked);
    if (from === undefined) return;
    const [x, y] = this.onScreen(from, pane);
    for (const line of this.data.lines) {
      const to = this.rowOf(line.to);
      if (to === undefined) continue;
      const [u, v] = this.onScreen(to, pane);
      pen.strokeStyle = line.right ? RIGHT : WRONG;
      pen.lineWidth = 2;
      pen.setLineDash(line.right ? [] : [6, 4]);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(u, v);
      pen.stroke();
      pen.setLineDash([]);
      pen.beginPath();
      if (line.right) pen.arc(u, v, this.size + 3, 0, TAU);
      else pen.rect(u - this.size - 3, v - this.size - 3, 2 * this.size + 6, 2 * this.size + 6);
      pen.stroke();
    }
    pen.strokeStyle = ink;
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, this.size + 5, 0, TAU);
    pen.stroke();
  }

  drawLasso(pen, ink, pane) {
    if (!this.lasso || this.lasso.length < 2 || this.lasso.left !== pane.left) return;
    pen.beginPath();
    this.lasso.forEach((place, at) => pen[at ? "lineTo" : "moveTo"](...this.inPane(place, pane)));
    pen.closePath();
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 0.06;
    pen.fillStyle = ink;
    pen.fill();
    pen.globalAlpha = 1;
  }

  drawAim(pen, ink) {
    const [x, y] = [this.width / 2, this.height / 2];
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [0, 1]]) {
      pen.moveTo(x - 11 * dx, y - 11 * dy);
      pen.lineTo(x + 11 * dx, y + 11 * dy);
    }
    pen.stroke();
  }

  drawLegend() {
    const { legend, title, lines } = this.data, { categories } = this.columns;
    const inLasso = legend.map(() => 0), chosen = this.chosenCount;
    for (let at = 0; chosen && at < categories.length; at++) if (this.chosen[at]) inLasso[categories[at]] += 1;
    const rows = legend.map((one, index) => {
      const row = make("button", "entry");
      row.type = "button";
      row.title = `${one.name}: list these images; with Shift, add them to the selection or take them out`;
      if (chosen && !inLasso[index]) row.classList.add("none");
      row.append(this.drawMark(one), make("span", "name", one.name));
      const all = one.count.toLocaleString("en");
      row.append(make("span", "count", chosen ? `${inLasso[index].toLocaleString("en")} / ${all}` : all));
      row.addEventListener("click", (event) => {
        this.lasso = null;
        const mine = this.rows((at) => categories[at] === index && this.passing[at]);
        if (!event.shiftKey) return this.choose(mine);
        const all = mine.every((at) => this.chosen[at]);
        this.choose(this.rows((at) => (categories[at] === index && this.passing[at] ? !all : this.chosen[at])));
      });
      return row;
    });
    const parts = [make("h3", "", title), make("div", "count-heading", chosen ? "selected / on the map" : "on the map"), ...rows];
    if (chosen) {
      parts.push(make("p", "summary", `${chosen.toLocaleString("en")} of ${categories.length.toLocaleString("en")} points selected`));
      const clear = make("button", "clear", "Clear the selection");
      clear.type = "button";
      clear.addEventListener("click", () => { this.lasso = null; this.choose([]); });
      parts.push(clear);
    }
    if (lines.length) {
      const key = make("div", "key");
      for (const [name, words] of [["", "✓ true neighbour, same class"], ["wrong", "✗ true neighbour, other class"]]) {
        const line = make("span");
        line.append(make("i", name), make("b", "", words));
        line.lastChild.style.fontWeight = "400";
        key.append(line);
      }
      parts.push(key);
    }
    this.legend.replaceChildren(...parts);
  }

  drawMark(one) {
    const canvas = make("canvas");
    const dense = window.devicePixelRatio || 1;
    canvas.width = canvas.height = 18 * dense;
    canvas.setAttribute("aria-hidden", "true");
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    const path = new Path2D();
    SHAPES[one.mark](path, 9, 9, 6);
    const ink = getComputedStyle(this.root).color;
    pen.fillStyle = one.colour || `color-mix(in srgb, ${ink} 42%, transparent)`;
    pen.fill(path);
    pen.lineWidth = 0.6;
    pen.strokeStyle = ink;
    if (one.colour) pen.stroke(path);
    return canvas;
  }

  drawTools() {
    const tools = make("div", "tools");
    const add = (name, words, act) => {
      const button = make("button", "", name);
      button.type = "button";
      button.title = words;
      button.setAttribute("aria-label", `${name}: ${words.toLowerCase()}`);
      button.addEventListener("click", act);
      tools.append(button);
      return button;
    };
    this.modes = {
      lasso: add("Lasso", "Draw around points", () => this.setMode("lasso")),
      move: add("Move", "Drag the map", () => this.setMode("move")),
    };
    add("+", "Zoom in", () => this.zoom(1.5));
    add("−", "Zoom out", () => this.zoom(1 / 1.5));
    add("Fit", "Show the whole map", () => { this.reset(); this.moving(); });
    this.contours = add("Contours", "Show how densely the points lie", () => {
      this.contoured = !this.contoured;
      this.contours.setAttribute("aria-pressed", String(this.contoured));
      this.draw();
    });
    this.contours.setAttribute("aria-pressed", "false");
    return tools;
  }

  // Two maps as one: where between them the points are shown.
  drawWays() {
    const { pair } = this.data;
    this.slider = null;
    if (!pair || pair.view !== "one") return this.ways.replaceChildren();
    const play = make("button", "clear", "Play");
    play.type = "button";
    play.addEventListener("click", () => this.travel(this.mixed < 0.5 ? 1 : 0, REDUCED.matches ? 1 : 1800));
    this.slider = make("input");
    Object.assign(this.slider, { type: "range", min: 0, max: 1, step: 0.01, value: this.mixed });
    this.slider.setAttribute("aria-label", `From ${pair.names[0]} to ${pair.names[1]}`);
    this.slider.addEventListener("input", () => {
      cancelAnimationFrame(this.travelling);
      this.mixed = Number(this.slider.value);
      this.moving();
    });
    this.ways.replaceChildren(play, make("span", "", pair.names[0]), this.slider, make("span", "", pair.names[1]));
  }

  // Histograms whose bars are buttons; a drag over several presses all of them.
  drawFilters() {
    const { filters } = this.data;
    this.filters.hidden = !filters.length;
    const total = this.passingCount, parts = [make("summary", "", "Filter by histogram")];
    if (this.brushed.size) {
      parts.push(make("p", "summary", `${total.toLocaleString("en")} of ${this.data.count.toLocaleString("en")} points pass`));
      parts.push(this.action("Select what passes", () => this.choose(this.rows((at) => this.passing[at]))));
      parts.push(this.action("Drop the filter", () => { this.brushed.clear(); this.refilter(); }));
    }
    for (const filter of filters) parts.push(this.drawHistogram(filter));
    const focused = this.root.getRootNode().activeElement?.dataset?.bar;
    this.filters.replaceChildren(...parts);
    if (focused) this.filters.querySelector(`[data-bar="${CSS.escape(focused)}"]`)?.focus();
  }

  action(words, act) {
    const button = make("button", "clear", words);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }

  drawHistogram(filter) {
    const codes = this.columns[`filter ${filter.name}`], counts = filter.labels.map(() => 0);
    const through = this.through(filter.name);
    for (let at = 0; at < codes.length; at++) if (through[at]) counts[codes[at]] += 1;
    const most = Math.max(1, ...counts), wanted = this.brushed.get(filter.name);
    const box = make("fieldset"), bars = make("div", "bars");
    box.append(make("legend", "", filter.name), bars);
    filter.labels.forEach((label, one) => {
      const bar = make("button", "bar");
      bar.type = "button";
      bar.dataset.bar = `${filter.name}/${one}`;
      bar.title = `${label}: ${counts[one].toLocaleString("en")}`;
      bar.setAttribute("aria-label", bar.title);
      bar.setAttribute("aria-pressed", String(Boolean(wanted?.has(one))));
      const fill = make("i");
      fill.style.height = `${Math.max(counts[one] ? 4 : 0, 100 * counts[one] / most)}%`;
      bar.append(fill);
      bars.append(bar);
    });
    this.brush(bars, filter);
    box.append(make("p", "ends", filter.labels.length > 1 ? `${filter.labels[0]} … ${filter.labels.at(-1)}` : filter.labels[0]));
    return box;
  }

  brush(bars, filter) {
    const place = (event) => [...bars.children].indexOf(event.target.closest(".bar"));
    let from = null;
    const set = (values) => {
      if (values.size && values.size < filter.labels.length) this.brushed.set(filter.name, values);
      else this.brushed.delete(filter.name);
      this.refilter();
    };
    bars.addEventListener("pointerdown", (event) => { from = place(event); });
    bars.addEventListener("pointerup", (event) => {
      const to = place(event);
      if (from === null || from < 0 || to < 0 || to === from) return;
      const [a, b] = [Math.min(from, to), Math.max(from, to)];
      from = -1; // the click that follows is none
      set(new Set(filter.labels.flatMap((_, one) => (one >= a && one <= b ? [one] : []))));
    });
    bars.addEventListener("click", (event) => {
      const one = place(event);
      if (from === -1 || one < 0) { from = null; return; }
      const values = new Set(this.brushed.get(filter.name));
      values[values.has(one) ? "delete" : "add"](one);
      set(values);
    });
  }

  // Which points pass every filter but this one: its own bars show what it could let through.
  through(but) {
    const all = new Uint8Array(this.data.count).fill(1);
    for (const [name, values] of this.brushed) {
      const codes = this.columns[`filter ${name}`];
      if (name === but || !codes) continue;
      for (let at = 0; at < all.length; at++) if (!values.has(codes[at])) all[at] = 0;
    }
    return all;
  }

  filter() {
    const same = this.passing?.length === this.data.count && !this.brushed.size && this.passingCount === this.data.count;
    if (!same) this.passing = this.through("");
    this.passingCount = this.brushed.size ? this.passing.reduce((sum, one) => sum + one, 0) : this.data.count;
    this.load();
  }

  refilter() {
    this.filter();
    this.drawFilters();
    this.draw();
  }

  rows(test) {
    const rows = [];
    for (let at = 0; at < this.data.count; at++) if (test(at)) rows.push(at);
    return rows;
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
      if (event.button) return;
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

  hover(x, y) {
    if (!this.view) return;
    const at = this.near(x, y);
    this.tip.hidden = at === null;
    if (at === null) return;
    const name = this.data.known[this.columns.names[at]], line = this.data.legend[this.columns.categories[at]];
    const category = line.name;
    this.tip.textContent = category === name || !line.colour ? name : `${name} (${category})`;
    this.tip.style.left = `${Math.min(x + 14, this.width - 200)}px`;
    this.tip.style.top = `${Math.min(y + 14, this.height - 40)}px`;
  }
}

export default async function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".scatter");
  root.latest = [data, setTriggerValue];
  const at = (name) => import(new URL(data.code + name, location.origin).href);
  root.map ??= Promise.all([at("painter.js"), at("vendor.min.js")]).then(
    ([painter, vendor]) => new Scatter(root, { ...painter, contours: vendor.contours }));
  (await root.map).show(...root.latest);
}
