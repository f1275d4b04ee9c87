// Histograms whose bars are buttons: what is pressed passes, and the map hides the rest.

import { make } from "./marks.js";

export const Filters = (Base) => class extends Base {
  // Histograms whose bars are buttons; a drag over several presses all of them.
  drawFilters() {
    const { filters } = this.data;
    this.filters.hidden = !filters.length;
    const total = this.passingCount, parts = [make("summary", "", "Filter by histogram")];
    if (this.brushed.size) {
      parts.push(make("p", "summary", `${total.toLocaleString("en")} of ${this.data.count.toLocaleString("en")} points pass`));
      parts.push(this.action("Select what passes", () => this.choose(this.rows((at) => this.passing[at]))));
      parts.push(this.action("Remove the filter", () => { this.brushed.clear(); this.refilter(); }));
    }
    for (const filter of this.filters.open ? filters : []) parts.push(this.drawHistogram(filter));
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
};
