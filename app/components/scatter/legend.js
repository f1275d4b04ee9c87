// The legend, the buttons above the map, and the slider between two maps.

import { make, SHAPES } from "./marks.js";
import { TRAILS } from "./overlay.js";

export const REDUCED = matchMedia("(prefers-reduced-motion: reduce)");

export const Legend = (Base) => class extends Base {
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
    const what = this.data.pair ? `neighbour in ${this.data.pair.names[1]}` : "true neighbour";
    const keys = lines.length ? [["", `✓ ${what}, same class`], ["wrong", `✗ ${what}, other class`]] : [];
    if (this.trailed) keys.push(["trail", `path from the first map, for the ${Math.min(TRAILS, chosen || this.data.count)} ${chosen ? "selected " : ""}points that moved most`]);
    if (keys.length) {
      const key = make("div", "key");
      for (const [name, words] of keys) {
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
    const shown = (name, words, what) => {
      const button = add(name, words, () => {
        this[what] = !this[what];
        button.setAttribute("aria-pressed", String(this[what]));
        this.draw();
      });
      button.setAttribute("aria-pressed", "true");
    };
    shown("Pictures", "Show pictures in place of points", "pictured");
    shown("Names", "Show the names of classes that lie close together", "named");
    this.contours = add("Contours", "Show how densely the points lie", () => {
      this.contoured = !this.contoured;
      this.contours.setAttribute("aria-pressed", String(this.contoured));
      this.draw();
    });
    this.contours.setAttribute("aria-pressed", "false");
    return tools;
  }
};
