// Draws the records of lab/dashboard/components/scatter/__init__.py on a canvas. Names come from users and files: they go in as
// text. What a person did (zoom, lasso) is kept here between two answers of the server, as long as the points are the
// same ones.

const RIGHT = "#0072b2", WRONG = "#d55e00";
const TAU = 2 * Math.PI;
const HINT = {
  lasso: "Draw around points to list them · click one for its neighbours · Ctrl + wheel zooms",
  move: "Drag to move · click a point for its neighbours · Ctrl + wheel zooms",
};

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

class Scatter {
  constructor(root) {
    this.root = root;
    this.mode = "lasso";
    this.selected = new Set();
    this.stage = make("div", "stage");
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.tip = make("div", "tip");
    this.tip.hidden = true;
    this.hint = make("p", "hint");
    this.legend = make("div", "legend");
    this.stage.append(this.canvas, this.hint, this.drawTools(), this.tip);
    root.replaceChildren(this.stage, this.legend);
    this.listen();
    this.setMode("lasso");
    new ResizeObserver(() => this.resize()).observe(this.stage);
  }

  show(data, send) {
    const same = this.data && this.data.of === data.of;
    const moved = !same || data.x.some((x, at) => x !== this.data.x[at] || data.y[at] !== this.data.y[at]);
    const before = this.places;
    const fitted = this.view && this.view.scale === this.view.fit;
    this.data = data;
    this.send = send;
    this.place = new Map(data.ids.map((id, at) => [id, at]));
    this.selected = new Set(data.selected.map((id) => this.place.get(id)).filter((at) => at !== undefined));
    if (moved) this.lasso = null;
    if (!same || (moved && fitted)) this.view = null;
    if (!same) this.places = data;
    else if (moved) this.glide(before, data);
    this.canvas.setAttribute("aria-label", data.alt);
    this.stage.removeAttribute("aria-busy");
    this.drawLegend();
    this.resize();
  }

  // Points that are known already walk to their new places, so that the eye can follow them.
  glide(from, to) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { this.places = to; return; }
    const begun = performance.now();
    const step = (now) => {
      if (this.data !== to) return;
      const share = Math.min(1, (now - begun) / 450);
      const eased = share * share * (3 - 2 * share);
      const between = (a, b) => a.map((value, at) => value + (b[at] - value) * eased);
      this.places = share < 1 ? { x: between(from.x, to.x), y: between(from.y, to.y) } : to;
      this.draw();
      if (share < 1) requestAnimationFrame(step);
    };
    this.places = from;
    requestAnimationFrame(step);
  }

  // --- places ---------------------------------------------------------------------------------------------------

  resize() {
    const box = this.stage.getBoundingClientRect();
    if (!box.width || !this.data) return;
    const dense = window.devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * dense);
    this.canvas.height = Math.round(box.height * dense);
    this.dense = dense;
    if (!this.view) this.reset();
    this.draw();
  }

  reset() {
    const { x, y } = this.data;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < x.length; at++) {
      left = Math.min(left, x[at]); right = Math.max(right, x[at]);
      low = Math.min(low, y[at]); high = Math.max(high, y[at]);
    }
    const scale = 0.92 * Math.min(this.width / Math.max(1, right - left), (this.height - 30) / Math.max(1, high - low));
    this.view = { scale, fit: scale, x: (left + right) / 2, y: (low + high) / 2 };
  }

  onScreen(at) {
    const { scale, x, y } = this.view;
    return [this.width / 2 + (this.places.x[at] - x) * scale, this.height / 2 - (this.places.y[at] - y) * scale];
  }

  inWorld(px, py) {
    const { scale, x, y } = this.view;
    return [x + (px - this.width / 2) / scale, y - (py - this.height / 2) / scale];
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.inWorld(px, py);
    this.view.scale = Math.min(400 * this.view.fit, Math.max(0.5 * this.view.fit, this.view.scale * factor));
    const [nx, ny] = this.inWorld(px, py);
    this.view.x += x - nx;
    this.view.y += y - ny;
    this.draw();
  }

  shift(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.draw();
  }

  near(px, py, reach = 12) {
    let [best, least] = [null, reach * reach];
    for (let at = 0; at < this.data.x.length; at++) {
      const [x, y] = this.onScreen(at);
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far < least) [best, least] = [at, far];
    }
    return best;
  }

  // --- drawing --------------------------------------------------------------------------------------------------

  get size() {
    const grown = Math.min(2.2, Math.max(1, (this.view.scale / this.view.fit) ** 0.35));
    return grown * Math.min(5.5, Math.max(2.6, 60 / Math.sqrt(this.data.x.length) + 1.9));
  }

  // At most once a frame: a mouse reports its place far more often than a screen shows one.
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(this.root);
    const ink = style.color;
    const grey = `color-mix(in srgb, ${ink} 42%, transparent)`;
    pen.setTransform(this.dense, 0, 0, this.dense, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const { categories, legend } = this.data;
    // A point that was picked stands out with its neighbours; what is selected stays as it is.
    const bright = this.selected.size ? this.selected : this.picked();
    const chosen = bright.size > 0;
    for (const faint of chosen ? [true, false] : [false]) {
      const paths = legend.map(() => new Path2D());
      for (let at = 0; at < categories.length; at++) {
        if (chosen && bright.has(at) === faint) continue;
        const [x, y] = this.onScreen(at);
        if (x < -9 || y < -9 || x > this.width + 9 || y > this.height + 9) continue;
        SHAPES[legend[categories[at]].mark](paths[categories[at]], x, y, this.size);
      }
      pen.lineWidth = 0.6;
      // Later lines of the legend lie below the first ones.
      for (let one = legend.length - 1; one >= 0; one--) {
        pen.globalAlpha = faint ? 0.14 : legend[one].colour ? 0.88 : 0.7;
        pen.fillStyle = legend[one].colour || grey;
        pen.fill(paths[one]);
        if (faint || !legend[one].colour) continue;
        pen.globalAlpha = 0.55;
        pen.strokeStyle = ink;
        pen.stroke(paths[one]);
      }
    }
    pen.globalAlpha = 1;
    this.drawLines(pen, ink);
    this.drawLasso(pen, ink);
    if (this.byKey && this.root.getRootNode().activeElement === this.canvas) this.drawAim(pen, ink);
  }

  picked() {
    const ends = [this.data.picked, ...this.data.lines.map((line) => line.to)];
    const places = ends.map((id) => this.place.get(id)).filter((at) => at !== undefined);
    return this.place.has(this.data.picked) ? new Set(places) : new Set();
  }

  drawLines(pen, ink) {
    const from = this.place.get(this.data.picked);
    if (from === undefined) return;
    const [x, y] = this.onScreen(from);
    for (const line of this.data.lines) {
      const to = this.place.get(line.to);
      if (to === undefined) continue;
      const [u, v] = this.onScreen(to);
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

  drawLasso(pen, ink) {
    if (!this.lasso || this.lasso.length < 2) return;
    const { scale, x, y } = this.view;
    pen.beginPath();
    this.lasso.forEach(([u, v], at) =>
      pen[at ? "lineTo" : "moveTo"](this.width / 2 + (u - x) * scale, this.height / 2 - (v - y) * scale));
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
    const { legend, categories, title, lines } = this.data;
    const inLasso = legend.map(() => 0);
    for (const at of this.selected) inLasso[categories[at]] += 1;
    const chosen = this.selected.size;
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
        const mine = categories.flatMap((category, at) => (category === index ? [at] : []));
        if (!event.shiftKey) return this.choose(mine);
        const all = mine.every((at) => this.selected.has(at)), others = new Set(this.selected);
        for (const at of mine) others[all ? "delete" : "add"](at);
        this.choose([...others]);
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
    add("Fit", "Show the whole map", () => { this.reset(); this.draw(); });
    return tools;
  }

  // --- what a person does ---------------------------------------------------------------------------------------

  setMode(mode) {
    this.mode = mode;
    for (const [name, button] of Object.entries(this.modes)) button.setAttribute("aria-pressed", String(name === mode));
    this.stage.classList.toggle("moving", mode === "move");
    this.hint.textContent = HINT[mode];
  }

  choose(places) {
    this.selected = new Set(places);
    this.drawLegend();
    this.draw();
    this.send("lassoed", { ids: places.map((at) => this.data.ids[at]) });
  }

  pick(at) {
    this.send("picked", { id: this.data.ids[at] });
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
      this.trace = this.mode === "lasso" && !event.shiftKey ? [this.inWorld(...from)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = where(event);
      if (!from) return this.hover(x, y);
      this.tip.hidden = true;
      far = Math.max(far, Math.hypot(x - from[0], y - from[1]));
      if (far < 5) return;
      if (this.trace) {
        this.trace.push(this.inWorld(x, y));
        this.lasso = this.trace;
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
        const lasso = this.trace;
        this.choose(this.data.x.flatMap((u, at) => (inside(u, this.data.y[at], lasso) ? [at] : [])));
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
    else if (event.key === "0") { this.reset(); this.draw(); }
    else if (event.key === "Escape") { this.lasso = null; this.choose([]); }
    else if (event.key === "Enter") {
      const at = this.near(this.width / 2, this.height / 2, 60);
      if (at !== null) this.pick(at);
    } else return;
    event.preventDefault();
  }

  hover(x, y) {
    const at = this.near(x, y);
    this.tip.hidden = at === null;
    if (at === null) return;
    const name = this.data.known[this.data.names[at]];
    const category = this.data.legend[this.data.categories[at]].name;
    this.tip.textContent = category === name || !this.data.legend[this.data.categories[at]].colour ? name : `${name} (${category})`;
    this.tip.style.left = `${Math.min(x + 14, this.width - 200)}px`;
    this.tip.style.top = `${Math.min(y + 14, this.height - 40)}px`;
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".scatter");
  root.map ??= new Scatter(root);
  root.map.show(data, setTriggerValue);
}
