// The page: a model that learns, a map, a list, and the form. Its state stands in the address.

import { Controls, short } from "./controls.js";
import { LOSSES, couples, lossOf } from "./losses.js";
import { Model } from "./model.js";
import { Course, RankedList, StepPlot, legendOf } from "./panels.js";
import { bound8, bound9, decomposabilityGap, softRanks } from "./ranking.js";
import { SCENARIOS, scenario } from "./scenarios.js";
import { Stage } from "./stage.js";
import { decode, encode, fresh, rateOf } from "./state.js";
import { constantGradient, hMinus, heaviside, linearTail, sigmoid, softBins } from "./surrogates.js";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
for (const set of Object.values(data.sets)) if (set.pixels) set.pixels = set.pixels.map(pixelsOf);

/** Frames between two measurements of all queries while it plays; the map moves in each. */
const EVERY = 4;

class Page {
  constructor() {
    this.stage = new Stage(byId("stage"), {
      onQuery: (item) => this.ask(item),
      onPlace: (item, row) => this.place(item, row),
      onTurn: () => this.draw(),
    });
    this.list = new RankedList(byId("list"), (item) => this.ask(item));
    this.plot = new StepPlot(byId("plot"), byId("plot-words"));
    this.course = new Course(byId("course"));
    legendOf(byId("legend"));
    this.controls = new Controls(byId("form"), data, {
      onLoss: (loss) => this.change({ loss, knobs: {}, rate: rateOf(this.state.mode, loss) }, true),
      onKnob: (name, value) => this.change({ knobs: { ...this.state.knobs, [name]: value } }),
      onRate: (rate) => this.change({ rate }),
      onBatches: (batches) => this.change({ batches }),
      onSet: (set) => this.begin({ ...this.kept(), set, mode: data.sets[set].pixels ? this.state.mode : "points" }),
      onMode: (mode) => this.begin({ ...this.kept(), set: mode === "encoder" ? "kinds" : this.state.set, mode }),
      onSpace: (d) => this.begin({ ...this.kept(), d }),
    });
    const choices = SCENARIOS.map(({ name, title }) => new Option(title, name));
    byId("scenario").append(...choices);
    byId("scenario").addEventListener("change", (event) => this.open(event.target.value));
    for (const [id, press] of Object.entries({
      play: () => (this.playing ? this.pause() : this.play()),
      step: () => this.once(),
      rewind: () => this.rewind(0),
      again: () => this.begin({ ...this.kept(), seed: (this.state.seed + 1) % 1e6 }),
      copy: () => this.copy(),
    }))
      byId(id).addEventListener("click", press);
    byId("back").addEventListener("input", (event) => this.rewind(Number(event.target.value)));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.fromAddress());
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  get state() {
    return this.model.state;
  }

  /** What another set, space or seed keeps of the state. */
  kept() {
    const { set, mode, d, loss, knobs, batches, seed } = this.state;
    return { set, mode, d, loss, knobs, batches, seed };
  }

  fromAddress() {
    const text = location.hash.slice(1);
    if (text === this.written) return;
    try {
      const state = decode(text, (name) => data.sets[name]);
      if (state) this.show(state);
      else if (data.start) this.show(fresh(data.sets[data.start.set], data.start));
      else this.open("start");
      this.say("");
    } catch (error) {
      if (!this.model) this.open("start");
      this.say(error.message);
    }
  }

  open(name) {
    const chosen = scenario(name);
    if (!chosen) return;
    this.show(fresh(data.sets[chosen.state.set], structuredClone(chosen.state)));
    byId("scenario").value = name;
    byId("words").textContent = chosen.words;
  }

  begin({ d, ...changes }) {
    const set = data.sets[changes.set];
    this.show(fresh(set, set.rows ? changes : { ...changes, d: Math.min(d, 8) }));
  }

  show(state) {
    this.pause();
    byId("scenario").value = "";
    byId("words").textContent = "";
    this.model = new Model(state, data.sets[state.set]);
    this.course.clear();
    this.stage.build(this.model);
    this.stage.face();
    this.refresh();
  }

  /** Other settings of the training that goes on. */
  change(settings, rebuild = false) {
    this.model.change(settings);
    if (rebuild) this.stage.build(this.model);
    this.refresh();
  }

  ask(item) {
    if (this.state.query === item) return;
    this.state.query = item;
    this.refresh();
  }

  place(item, row) {
    this.model.place(item, row);
    this.refresh();
  }

  play() {
    this.playing = true;
    this.buttons();
    let frame = 0;
    const tick = () => {
      if (!this.playing) return;
      this.advance(++frame % EVERY === 0);
      this.request = requestAnimationFrame(tick);
    };
    this.request = requestAnimationFrame(tick);
  }

  pause() {
    const played = this.playing;
    this.playing = false;
    cancelAnimationFrame(this.request);
    this.buttons();
    if (played) this.refresh();
  }

  once() {
    this.pause();
    this.advance(true);
    this.refresh();
  }

  /** One step, and what it changed. */
  advance(whole) {
    const begun = performance.now();
    this.model.descend(this.measured);
    this.draw(whole);
    this.frames = [...(this.frames ?? []).slice(-299), performance.now() - begun];
  }

  rewind(step) {
    this.pause();
    this.model.rewind(step);
    this.refresh();
  }

  refresh() {
    this.controls.show(this.state, this.model.set);
    this.buttons();
    this.draw(true);
    this.write();
    this.tell();
  }

  draw(whole = false) {
    if (!this.model) return;
    const { model } = this;
    this.measured = model.measure();
    const scores = model.scores();
    const list = model.list(this.state.query, scores);
    this.stage.draw(this.measured, list);
    this.list.draw(model, this.measured, list);
    if (!whole) return;
    this.metrics = model.metrics(scores);
    this.course.add(model.step, this.measured.value, this.metrics);
    this.course.draw();
    this.plot.draw(model, list);
    this.numbers();
    this.buttons();
    if (model.step % 64 === 0) this.write();
  }

  numbers() {
    const { names } = this.model.set;
    const { first, recall, precision, gap } = this.metrics;
    const told = { loss: this.measured.value, first, recall, precision, gap };
    for (const [id, value] of Object.entries(told)) {
      byId(`is-${id}`).textContent = Number.isNaN(value) ? "–" : value.toFixed(3);
    }
    byId("gap-row").hidden = this.state.batches < 2;
    byId("asked").textContent = names[this.state.query];
    byId("soft-head").textContent = this.model.surrogate ? "soft rank" : "";
    byId("score-head").textContent = this.model.free ? "−distance²" : "cosine";
    byId("force").textContent = `Strongest force: ${short(this.stage.strongest)}`;
  }

  buttons() {
    const step = this.model?.step ?? 0;
    byId("play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    byId("at").textContent = step;
    byId("rewind").disabled = !this.model?.taken.length;
    const back = byId("back");
    back.disabled = !this.model?.taken.length;
    back.min = this.model?.taken[0]?.step ?? 0;
    back.max = step;
    if (document.activeElement !== back || this.playing) back.value = step;
  }

  /** The list in words, for who does not see it. */
  tell() {
    const list = this.model.list(this.state.query).slice(0, 3);
    const { names } = this.model.set;
    const nearest = list.map(({ item, right }) => `${names[item]}, ${right ? "right" : "wrong"}`).join("; ");
    byId("told").textContent = `Step ${this.model.step}. Loss ${this.measured.value.toFixed(3)}. Nearest to
      ${names[this.state.query]}: ${nearest}. Average precision ${this.metrics.precision.toFixed(3)}.`;
  }

  write() {
    if (this.playing && this.model.step % 64) return;
    this.written = encode(this.state);
    try {
      history.replaceState(null, "", `#${this.written}`);
    } catch {
      // a page inside another one may have no address of its own
    }
  }

  async copy() {
    this.write();
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link is copied. It holds everything that you see.");
    } catch {
      this.say("The browser did not allow copying. The address of this page is the link.");
    }
  }

  say(words) {
    byId("message").textContent = words;
  }

  key(event) {
    const typing = event.target.matches?.("input, select, textarea, button");
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const press = { p: "play", s: "step", r: "rewind" }[event.key];
    if (press && !byId(press).disabled) byId(press).click();
  }
}

function pixelsOf(text) {
  return Float64Array.from(atob(text), (letter) => letter.charCodeAt(0) / 127.5 - 1);
}

const page = new Page();
page.fromAddress();
// For the console: the page itself, and the losses that it draws.
const surrogates = { constantGradient, hMinus, heaviside, linearTail, sigmoid, softBins };
globalThis.playground = { page, lossOf, LOSSES, couples, decomposabilityGap, surrogates, bound8, bound9, softRanks };
