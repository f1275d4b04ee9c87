// The map on a canvas. A shape says what a colour says: dots are right, crosses wrong; of classes each has its own shape.

import { RIGHT, WRONG } from "./store.js";

const EDGE = 14;
const SPAN = 65535;
/** Pixels around a point in which a click still means it. */
const REACH = 14;
/** Lines from the query to so many of its nearest images. */
const LINES = 10;

/** Shapes of radius r around a place: dot, cross, square, triangle, diamond, plus. */
const SHAPES = [
  (path, x, y, r) => (path.moveTo(x + r, y), path.arc(x, y, r, 0, 7)),
  (path, x, y, r) => (path.moveTo(x - r, y - r), path.lineTo(x + r, y + r), path.moveTo(x + r, y - r), path.lineTo(x - r, y + r)),
  (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  (path, x, y, r) => (path.moveTo(x, y - r), path.lineTo(x + r, y + r), path.lineTo(x - r, y + r), path.closePath()),
  (path, x, y, r) => (path.moveTo(x, y - r), path.lineTo(x + r, y), path.lineTo(x, y + r), path.lineTo(x - r, y), path.closePath()),
  (path, x, y, r) => (path.moveTo(x - r, y), path.lineTo(x + r, y), path.moveTo(x, y - r), path.lineTo(x, y + r)),
];
const FILLED = [true, false, true, true, true, false];

export class Chart {
  /** onQuery, onHover: called with a row; the latter with null beside all points. */
  constructor(canvas, onQuery, onHover) {
    this.canvas = canvas;
    this.view = { x: 0, y: 0, zoom: 1 };
    canvas.addEventListener("pointerdown", (event) => {
      this.held = { x: event.offsetX, y: event.offsetY, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.held) return onHover(this.near(event.offsetX, event.offsetY), event);
      const [dx, dy] = [event.offsetX - this.held.x, event.offsetY - this.held.y];
      this.held = { x: event.offsetX, y: event.offsetY, moved: this.held.moved + Math.hypot(dx, dy) };
      if (this.held.moved > 4) this.move(dx, dy);
    });
    canvas.addEventListener("pointerup", (event) => {
      const row = this.held?.moved <= 4 ? this.near(event.offsetX, event.offsetY) : null;
      if (row !== null) onQuery(row);
      this.held = null;
    });
    for (const end of ["pointercancel", "pointerleave"]) {
      canvas.addEventListener(end, (event) => ((this.held = null), onHover(null, event)));
    }
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.draw();
  }

  /** By a factor around a place; 0 shows the whole map again. */
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const zoom = factor ? Math.min(60, Math.max(1, this.view.zoom * factor)) : 1;
    const change = zoom / this.view.zoom;
    this.view = zoom === 1 ? { x: 0, y: 0, zoom } : { x: x + (this.view.x - x) * change, y: y + (this.view.y - y) * change, zoom };
    this.draw();
  }

  /** seen: rows that the filters let through; byKind: whether classes are told apart, else right and wrong. */
  show(run, seen, byKind) {
    Object.assign(this, { run, seen, byKind });
    this.draw();
  }

  /** A row, and what was found for it, nearest first. */
  mark(query, found) {
    Object.assign(this, { query, found });
    this.draw();
  }

  place(row) {
    const side = Math.min(this.canvas.clientWidth, this.canvas.clientHeight) - 2 * EDGE;
    const { x, y, zoom } = this.view;
    const left = (this.canvas.clientWidth - side) / 2;
    const top = (this.canvas.clientHeight - side) / 2;
    const at = this.run.places;
    return [x + zoom * (left + (side * at[2 * row]) / SPAN), y + zoom * (top + side * (1 - at[2 * row + 1] / SPAN))];
  }

  near(x, y) {
    let [best, least] = [null, REACH ** 2];
    for (const row of this.seen ?? []) {
      const [px, py] = this.place(row);
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.run && this.paint());
  }

  paint() {
    const { canvas, run, seen } = this;
    const sharp = devicePixelRatio;
    canvas.width = canvas.clientWidth * sharp;
    canvas.height = canvas.clientHeight * sharp;
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const style = getComputedStyle(canvas);
    const ink = (name) => style.getPropertyValue(name);
    const size = Math.max(1.2, Math.min(4, 160 / Math.sqrt(run.images.length))) * Math.min(2, this.view.zoom ** 0.5);
    const inside = new Uint8Array(run.images.length);
    for (const row of seen) inside[row] = 1;
    const groups = new Map();
    for (let row = 0; row < inside.length; row++) {
      const kind = run.labels[row];
      const answer = run.answer[row];
      let look = "faint"; // what the filters leave out
      if (inside[row]) look = this.byKind ? kind % 36 : answer === RIGHT ? "right" : answer === WRONG ? "wrong" : "other";
      if (!groups.has(look)) groups.set(look, []);
      groups.get(look).push(row);
    }
    const order = ["faint", "other", "right", "wrong"];
    for (const [look, rows] of [...groups].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))) {
      const plain = { faint: [0, "--line"], other: [2, "--soft"], right: [0, "--right"], wrong: [1, "--wrong"] }[look];
      const [shape, colour] = plain ?? [(look + Math.floor(look / 6)) % 6, `--c${look % 6}`];
      const path = new Path2D();
      for (const row of rows) SHAPES[shape](path, ...this.place(row), look === "faint" ? size / 2 : size);
      pen.strokeStyle = pen.fillStyle = ink(colour);
      pen.lineWidth = 1.4;
      if (FILLED[shape] && look !== "other") pen.fill(path);
      else pen.stroke(path);
    }
    this.paintQuery(pen, ink, size);
  }

  /** Lines to what was found, and a ring around the query. */
  paintQuery(pen, ink, size) {
    const [x, y] = this.place(this.query);
    pen.lineWidth = 1.6;
    for (const row of this.found.slice(0, LINES)) {
      const right = this.run.labels[row] === this.run.labels[this.query];
      pen.strokeStyle = ink(right ? "--right" : "--wrong");
      pen.setLineDash(right ? [] : [4, 4]);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(...this.place(row));
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, size + 6, 0, 7);
    pen.stroke();
  }
}
