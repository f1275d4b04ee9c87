// The map on a canvas. Shapes say what colours say: dots are right, crosses wrong; classes have shapes of their own.

import { RIGHT, UNKNOWN, WRONG } from "./store.js";

const SPAN = 65535;
/** Pixels at the edge; around a point, in which a click still means it; and lines from the query to what was found. */
const [EDGE, REACH, LINES] = [14, 14, 10];

/** Dot, cross, square, triangle, plus and diamond around the origin. */
const SHAPES = [
  "M1 0A1 1 0 1 1 1-.01Z",
  "M-1-1L1 1M-1 1L1-1",
  "M-1-1H1V1H-1Z",
  "M0-1L1 1H-1Z",
  "M0-1V1M-1 0H1",
  "M0-1L1 0L0 1L-1 0Z",
].map((shape) => new Path2D(shape));
const ANSWERS = { [RIGHT]: "0 --right", [WRONG]: "1 --wrong", [UNKNOWN]: "2 --soft" }; // shape and colour

export class Chart {
  /** onQuery, onHover: called with a row; the latter with null beside all points. */
  constructor(canvas, onQuery, onHover) {
    this.canvas = canvas;
    this.view = { x: 0, y: 0, zoom: 1 };
    canvas.addEventListener("pointerdown", () => (this.moved = 0));
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return onHover(this.near(event));
      this.moved += Math.hypot(event.movementX, event.movementY);
      this.view.x += event.movementX;
      this.view.y += event.movementY;
      this.draw();
    });
    canvas.addEventListener("click", (event) => {
      const row = this.moved < 5 ? this.near(event) : null;
      if (row !== null) onQuery(row);
    });
    canvas.addEventListener("pointerleave", () => onHover(null));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    });
    new ResizeObserver(() => {
      [this.wide, this.high] = [canvas.clientWidth, canvas.clientHeight];
      this.draw();
    }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** By a factor around a place; 0 shows the whole map again. */
  zoom(factor, x = this.wide / 2, y = this.high / 2) {
    const zoom = Math.min(60, Math.max(1, this.view.zoom * factor));
    const change = zoom / this.view.zoom;
    this.view = { x: x + (this.view.x - x) * change, y: y + (this.view.y - y) * change, zoom };
    if (zoom === 1) this.view = { x: 0, y: 0, zoom };
    this.draw();
  }

  /** changes: run; seen, its rows that filters let through; byKind, to tell classes apart; query, and found, rows. */
  show(changes) {
    Object.assign(this, changes);
    this.draw();
  }

  /** Where each row lies on the canvas: x and y in turn. */
  laidOut() {
    const { wide, high, view } = this;
    const unit = (view.zoom * (Math.min(wide, high) - 2 * EDGE)) / SPAN;
    const [left, top] = [view.x + (view.zoom * wide - unit * SPAN) / 2, view.y + (view.zoom * high + unit * SPAN) / 2];
    return Float32Array.from(this.run.places, (place, i) => (i % 2 ? top - unit * place : left + unit * place));
  }

  near({ offsetX, offsetY }) {
    let [best, least] = [null, REACH];
    for (const row of this.seen ?? []) {
      const distance = Math.hypot(this.at[2 * row] - offsetX, this.at[2 * row + 1] - offsetY);
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.run && this.wide && this.paint());
  }

  paint() {
    const { canvas, run, seen } = this;
    [canvas.width, canvas.height] = [this.wide * devicePixelRatio, this.high * devicePixelRatio];
    const pen = canvas.getContext("2d");
    const at = (this.at = this.laidOut());
    const sharp = (scale, x, y) => pen.setTransform(...[scale, 0, 0, scale, x, y].map((one) => one * devicePixelRatio));
    const style = getComputedStyle(canvas);
    const size = Math.max(1.2, Math.min(4, 160 / Math.sqrt(run.images.length))) * Math.min(2, this.view.zoom ** 0.5);
    const all = [...run.images.keys()];
    const groups = { "0 --line": seen.length < all.length ? all : [] }; // small and faint: what the filters leave out
    for (const row of seen) {
      const kind = run.labels[row];
      const ofKind = `${(kind + Math.floor(kind / 6)) % 6} --c${kind % 6}`;
      (groups[this.byKind ? ofKind : ANSWERS[run.answer[row]]] ??= []).push(row);
    }
    for (const [look, rows] of Object.entries(groups)) {
      const [shape, colour] = look.split(" ");
      const scale = colour === "--line" ? 1 : size;
      pen.strokeStyle = pen.fillStyle = style.getPropertyValue(colour);
      pen.lineWidth = 1.4 / scale;
      for (const row of rows) {
        sharp(scale, at[2 * row], at[2 * row + 1]);
        if (shape === "0") pen.fill(SHAPES[shape]);
        else pen.stroke(SHAPES[shape]);
      }
    }
    sharp(1, 0, 0);
    pen.strokeStyle = style.getPropertyValue("--ink"); // a ring around the query, and lines to what was found
    const [x, y] = at.subarray(2 * this.query);
    pen.lineWidth = 1.4;
    for (const row of this.found.slice(0, LINES)) {
      pen.setLineDash(run.labels[row] === run.labels[this.query] ? [] : [4, 4]);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(at[2 * row], at[2 * row + 1]);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, size + 6, 0, 7);
    pen.stroke();
  }
}
