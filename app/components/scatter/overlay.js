// What lies above the points: contours of their density, trails, pictures, names, lines to neighbours, the lasso.

import { TAU } from "./marks.js";
import { contours } from "./vendor.min.js";

const RIGHT = "#0072b2", WRONG = "#d55e00";
const PICTURES = 6_000; // points up to which pictures are shown in their place
const FEW = 200; // the same where there are more points, of those on screen
export const TRAILS = 200; // points that moved most, whose way is drawn
const GRID = 160; // cells across the map for its density

export const Overlay = (Base) => class extends Base {
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
    return contours().size([side, side]).thresholds(levels)(Array.from(cells)).map((one) =>
      one.coordinates.flat().map((ring) => ring.map(([x, y]) => [left + (x - 6) * cell, low + (y - 6) * cell])));
  }

  // The way of the points that moved most, of those that pass and, if any are, are selected.
  drawTrails(pen, ink, pane) {
    if (this.trails?.from !== this.from || this.trails.passing !== this.passing || this.trails.chosen !== this.chosen) {
      const { from, to } = this, far = [];
      for (let at = 0; at < this.data.count; at++) {
        if (!this.passing[at] || (this.chosenCount && !this.chosen[at])) continue;
        far.push([Math.hypot(to[2 * at] - from[2 * at], to[2 * at + 1] - from[2 * at + 1]), at]);
      }
      far.sort((a, b) => b[0] - a[0]);
      this.trails = { from, passing: this.passing, chosen: this.chosen, rows: far.slice(0, TRAILS).map(([, at]) => at) };
    }
    pen.strokeStyle = ink;
    for (const at of this.trails.rows) {
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

  // Each point is its picture, framed in its colour, as far as pictures find room beside each other; the others stay
  // points. Zooming in makes room for more. Of many points only those on screen count, and only when they rest.
  drawPictures(pen, ink, pane) {
    const { data } = this;
    if (!data.pictures || !this.pictured) return;
    const many = data.count > PICTURES, seen = [];
    if (many && (this.inMotion || this.view.scale < 1.5 * this.view.fit)) return;
    for (const at of many ? this.order : this.spread(pane)) {
      if (many && !this.passing[at]) continue;
      const [x, y] = this.onScreen(at, pane);
      if (x < pane.left - 40 || y < -40 || x > pane.left + pane.width + 40 || y > this.height + 40) continue;
      if (many && seen.length === FEW) return;
      seen.push([at, x, y]);
    }
    const side = this.side(pane, many ? seen.length : data.count), lit = this.chosenCount ? new Set() : this.picked();
    this.images ??= new Map();
    for (const [at, x, y] of seen.reverse()) {
      const address = `${data.pictures}${this.ids[at]}`;
      if (!this.images.has(address)) {
        const image = new Image();
        image.onload = () => this.draw();
        image.src = address;
        this.images.set(address, image);
        if (this.images.size > PICTURES) this.images.delete(this.images.keys().next().value);
      }
      const image = this.images.get(address);
      if (!image.complete || !image.naturalWidth) continue;
      const grow = side / Math.max(image.naturalWidth, image.naturalHeight);
      const [w, h] = [image.naturalWidth * grow, image.naturalHeight * grow];
      pen.globalAlpha = (this.chosenCount && !this.chosen[at]) || (lit.size && !lit.has(at)) ? 0.3 : 1;
      pen.drawImage(image, x - w / 2, y - h / 2, w, h);
      pen.strokeStyle = data.legend[this.columns.categories[at]].colour || ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - w / 2, y - h / 2, w, h);
    }
    pen.globalAlpha = 1;
  }

  // Pixels of a picture's longer side: more where there are fewer, and where one has zoomed in.
  side(pane, count) {
    const room = Math.sqrt(pane.width * this.height / Math.max(1, count));
    return Math.min(72, Math.max(24, 0.7 * room) * Math.max(1, this.view.scale / this.view.fit) ** 0.35);
  }

  // The points whose pictures do not hide each other: what is picked and selected first, then always the same ones. It
  // is told in places of the map, so that nothing changes while one moves it.
  spread(pane) {
    const zoom = 2 ** (Math.round(4 * Math.log2(this.view.scale)) / 4);
    const about = [this.to, this.passing, this.chosen, this.data.picked, this.data.lines, zoom, pane.mixed === 0, this.width];
    if (this.spreads?.[pane.left]?.about.every((one, at) => one === about[at])) return this.spreads[pane.left].rows;
    const cell = 1.08 * this.side(pane, this.data.count) / zoom, taken = new Map(), rows = [];
    const places = pane.mixed === 0 ? this.from : this.to, picked = this.picked();
    const first = [...picked, ...this.order.filter((at) => this.chosen[at])];
    for (const at of [...first, ...this.order]) {
      if (!this.passing[at]) continue;
      const [x, y] = [places[2 * at], places[2 * at + 1]], [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
      let free = true;
      for (let dx = -1; free && dx < 2; dx++) for (let dy = -1; free && dy < 2; dy++) {
        const other = taken.get(`${column + dx},${row + dy}`);
        free = other === undefined || Math.abs(places[2 * other] - x) >= cell || Math.abs(places[2 * other + 1] - y) >= cell;
      }
      if (!free) continue;
      taken.set(`${column},${row}`, at);
      rows.push(at);
    }
    (this.spreads ??= {})[pane.left] = { about, rows };
    return rows;
  }

  // Names of the classes that lie close together, below their middle, as far as they find room beside each other.
  drawNames(pen, ink, pane) {
    if (!this.named) return;
    if (this.middles?.of !== this.to || this.middles.passing !== this.passing) this.middles = this.findMiddles();
    const ground = getComputedStyle(this.root).getPropertyValue("--st-background-color"), boxes = [];
    pen.font = `600 12px ${getComputedStyle(this.root).fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const below = this.pictured && this.data.count <= PICTURES ? this.side(pane, this.data.count) / 2 + 4 : 0;
    for (const { name, before, after } of this.middles.list) {
      const [x, top] = this.inPane([0, 1].map((axis) => before[axis] + (after[axis] - before[axis]) * pane.mixed), pane);
      const y = top + below, wide = pen.measureText(name).width / 2 + 6;
      if (x - wide < pane.left || x + wide > pane.left + pane.width || y < 40 || y > this.height - 34) continue;
      if (boxes.some(([u, v, w]) => Math.abs(x - u) < wide + w && Math.abs(y - v) < 18 + 1.5 * below)) continue;
      boxes.push([x, y, wide]);
      pen.strokeStyle = ground;
      pen.lineWidth = 4;
      pen.strokeText(name, x, y);
      pen.fillStyle = ink;
      pen.fillText(name, x, y);
    }
    pen.textAlign = "start";
    pen.textBaseline = "alphabetic";
  }

  findMiddles() {
    const { columns, known, passing } = this, rows = new Map();
    for (let at = 0; at < columns.names.length; at++) {
      if (!passing[at]) continue;
      if (!rows.has(columns.names[at])) rows.set(columns.names[at], []);
      rows.get(columns.names[at]).push(at);
    }
    const middle = (places, some) => [0, 1].map((axis) => some.map((at) => places[2 * at + axis]).sort((a, b) => a - b)[some.length >> 1]);
    const spread = (places, some, [x, y]) =>
      some.map((at) => Math.hypot(places[2 * at] - x, places[2 * at + 1] - y)).sort((a, b) => a - b)[some.length >> 1];
    const all = this.order.filter((at) => passing[at]).slice(0, 2_000), list = [];
    const whole = all.length ? spread(this.to, [...all], middle(this.to, [...all])) : 0;
    for (const [code, some] of rows) {
      if (some.length < 3 || !known[code]) continue;
      const after = middle(this.to, some), far = spread(this.to, some, after);
      if (far > 0.3 * whole) continue; // scattered: a name in its middle would lie
      const name = known[code].length > 24 ? `${known[code].slice(0, 23)}…` : known[code];
      list.push({ name, before: middle(this.from, some), after, worth: some.length / (far + 0.02 * whole + 1e-9) });
    }
    list.sort((a, b) => b.worth - a.worth);
    return { of: this.to, passing, list };
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
};
