
// Judging images one after the other, as app/components/gallery/__init__.py describes it: a key or a click answers, and
// the next image is drawn at once from what the server has sent ahead. Answers are numbered and sent until the server
// has heard them, so that none is lost when somebody is quicker than it; what it says of the place is believed once it
// has heard all.

const ANSWERS = [
  { key: "1", does: "keep", text: (frame) => (frame.shown.length > 1 ? "Keep both" : "Keep, it is right"), many: (n) => `Keep all ${n}`, said: () => "kept" },
  { key: "2", does: "relabel", text: (frame) => `It is ${frame.suggested}`, many: () => "Each is what is suggested", said: (label) => `is ${label}` },
  { key: "3", does: "drop", text: () => "Drop", many: (n) => `Drop all ${n}`, said: () => "dropped" },
  { key: "4", does: "duplicate", text: (frame) => frame.repeats, many: () => "Each is a duplicate", said: () => "a duplicate" },
];
const KEPT = 80;  // images whose evidence is remembered, so that going back is as quick
const SIGNS = { keep: "✓", relabel: "→", drop: "✗", duplicate: "=" };

function markWords(mark) {
  return `${SIGNS[mark.answer]} ${ANSWERS.find((one) => one.does === mark.answer).said(mark.label)}`;
}

function keyButton(key, name, press) {
  const button = make("button", "answer");
  button.type = "button";
  button.setAttribute("aria-keyshortcuts", name);
  button.append(make("kbd", "", key), make("span", "words"));
  button.addEventListener("click", press);
  return button;
}

class Judge {
  constructor(root) {
    this.root = root;
    this.log = [];
    this.count = 0;
    this.choice = new Choice();
    this.cards = new Map();
    this.panel = make("div", "panel");
    this.list = make("div", "all");
    this.status = make("p", "spoken");
    this.status.setAttribute("role", "status");
    root.replaceChildren(this.drawBar(), this.panel, this.list, this.status);
  }

  // --- what stands where ------------------------------------------------------------------------------------------

  drawBar() {
    const bar = make("div", "answers");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Answers");
    this.where = make("p", "where");
    this.buttons = ANSWERS.map((one) => keyButton(one.key, one.key, () => this.answer(one.does)));
    this.field = make("input", "class");
    Object.assign(this.field, { type: "text", placeholder: "It is another class …", autocomplete: "off" });
    this.field.setAttribute("aria-label", "It is another class; slash comes here, Enter answers");
    this.field.setAttribute("aria-keyshortcuts", "/");
    this.field.setAttribute("list", "judge-classes");
    this.field.addEventListener("keydown", (event) => this.typed(event));
    this.names = make("datalist");
    this.names.id = "judge-classes";
    this.undo = keyButton("U", "U", () => this.back());
    this.undo.lastChild.textContent = "Undo";
    this.before = keyButton("←", "ArrowLeft", () => this.turn(-1));
    this.before.lastChild.textContent = "Previous";
    this.after = keyButton("→", "ArrowRight", () => this.turn(1));
    this.after.lastChild.textContent = "Next";
    const line = make("div", "line-of-place");
    line.append(this.where, this.before, this.after);
    bar.append(line, ...this.buttons, this.field, this.names, this.undo);
    return bar;
  }

  show({ judge: data, sections: [listed], ...choice }, send) {
    this.data = data;
    this.listed = listed;
    this.send = send;
    this.count = Math.max(this.count, data.heard);
    this.log = this.log.filter((entry) => entry.n > data.heard);
    this.ids = listed.cards.map((card) => card.id);
    if (this.title !== listed.title) Object.assign(this, { title: listed.title, past: [], frames: new Map() });
    for (const frame of data.frames) this.frames.set(frame.id, frame);
    for (const id of [...this.frames.keys()].slice(0, -KEPT)) this.frames.delete(id);
    this.marks = new Map(Object.entries(data.marks).map(([id, [answer, label]]) => [Number(id), { answer, label }]));
    for (const entry of this.log) this.remember(entry);
    if (!this.log.length) this.current = listed.current;
    const names = JSON.stringify(data.classes);
    if (this.known !== names) this.names.replaceChildren(...data.classes.map((name) => Object.assign(make("option"), { value: name })));
    this.known = names;
    this.draw();
    this.choice.hear(choice, (value) => {
      this.send("chosen", value);
      this.drawAnswers();
    });
    this.drawAnswers();
  }

  get selected() {
    return this.ids.filter((id) => this.choice.ids.has(id));
  }

  draw() {
    this.root.classList.toggle("nothing", !this.ids.length);
    this.drawPanel(this.frames.get(this.current));
    this.drawList();
    this.drawAnswers();
  }

  drawAnswers() {
    const frame = this.frames.get(this.current), many = this.selected.length, at = this.ids.indexOf(this.current);
    const mark = this.marks.get(this.current);
    const marked = this.ids.filter((id) => this.marks.has(id)).length;
    const place = `${at + 1} of ${this.ids.length}${mark ? `, ${markWords(mark)}` : ""} · ${marked} judged`;
    this.where.textContent = many ? `${many} selected below: an answer is for all of them, Escape selects none` : place;
    ANSWERS.forEach((one, place) => {
      const button = this.buttons[place], can = many ? many : frame && (one.does !== "relabel" || frame.suggested) && (one.does !== "duplicate" || frame.repeats);
      button.hidden = !can;
      button.lastChild.textContent = !can ? "" : many ? one.many(many) : one.text(frame);
      button.setAttribute("aria-pressed", String(!many && mark?.answer === one.does));
    });
    this.undo.disabled = !this.past.length && !this.data.undoable;
  }

  drawPanel(frame) {
    this.panel.setAttribute("aria-busy", String(!frame && this.ids.length > 0));
    const drawn = JSON.stringify(frame);
    if (!frame || this.drawn === drawn) return;
    this.drawn = drawn;
    const shown = make("div", "shown"), evidence = make("div", "evidence");
    shown.append(...frame.shown.map((one) => drawQuery(one, one.alt)));
    evidence.append(...frame.sections.map((section) => drawSection(section, (_, id) => this.go(id))));
    this.panel.classList.toggle("two", frame.shown.length > 1);
    this.panel.replaceChildren(shown, evidence);
  }

  drawList() {
    const { listed } = this, ids = JSON.stringify([listed.title, this.ids]);
    if (this.listedIds !== ids) {
      this.cards.clear();
      this.choice.cards.clear();
      const empty = drawSection({ ...listed, cards: [] }, () => {});
      this.grid = make("div", "grid");
      this.grid.setAttribute("role", "group");
      this.grid.setAttribute("aria-label", listed.title);
      if (this.ids.length) empty.lastChild.replaceWith(this.grid);
      walk(this.grid);
      this.list.replaceChildren(empty);
    }
    this.listedIds = ids;
    for (const card of listed.cards) this.drawListed(card);
    this.choice.show();
  }

  drawListed(card) {
    const mark = this.marks.get(card.id), before = this.cards.get(card.id);
    const looks = JSON.stringify([card, mark, card.id === this.current]);
    if (before?.looks === looks) return;
    this.choice.cards.set(card.id, []);
    const told = mark ? { ...card, subtitle: [card.subtitle, markWords(mark)].filter(Boolean).join(", ") } : card;
    const element = drawCard(told, (id) => this.go(id), this.current, this.choice);
    element.querySelector(".subtitle")?.replaceChildren(card.subtitle);
    if (mark) element.append(Object.assign(make("span", "said", markWords(mark)), { ariaHidden: "true" }));
    element.tabIndex = card.id === this.current ? 0 : -1;  // see `walk`
    const focused = before && before.element === this.root.getRootNode().activeElement;
    before ? before.element.replaceWith(element) : this.grid.append(element);
    if (focused) element.focus({ preventScroll: true });
    this.cards.set(card.id, { looks, element });
  }

  // --- what a person does -----------------------------------------------------------------------------------------

  tell(entry) {
    this.count += 1;
    this.log.push({ n: this.count, at: this.current, ...entry });
    this.send("told", { log: this.log });
    this.insist(4000);
  }

  // What is not heard for so many milliseconds is sent again, each time after twice as long.
  insist(wait) {
    clearTimeout(this.again);
    this.again = setTimeout(() => {
      if (!this.log.length || !this.root.isConnected) return;
      this.send("told", { log: this.log });
      this.insist(2 * wait);
    }, wait);
  }

  remember(entry) {
    for (const id of entry.ids ?? []) {
      const label = entry.label || this.frames.get(id)?.suggested || "as suggested";
      entry.does === "undo" ? this.marks.delete(id) : this.marks.set(id, { answer: entry.does, label });
    }
  }

  answer(does, label = "") {
    const ids = this.selected.length ? this.selected : [this.current];
    if (!this.ids.length || this.log.some((entry) => entry.last)) return;  // the next page of the list is on its way
    const place = ANSWERS.findIndex((one) => one.does === does);
    if (!label && this.buttons[place].hidden) return;
    this.past.push({ ids, at: this.current });
    this.remember({ does, label, ids });
    const words = ids.length > 1 ? `${ids.length} images: ${SIGNS[does]} ${does}` : markWords(this.marks.get(ids[0]));
    this.deselect();
    const from = this.ids.indexOf(this.current);
    const ahead = [...this.ids.slice(from + 1), ...this.ids.slice(0, from)].filter((id) => !this.marks.has(id));
    const next = this.marks.has(this.current) ? ahead[0] : this.current;
    this.current = next ?? this.current;
    this.tell({ does, label, ids, last: next === undefined });
    this.say(next === undefined ? `${words}. That was the last of this list.` : words);
  }

  back() {
    const last = this.past.pop();
    if (!last && !this.data.undoable) return;
    this.remember({ does: "undo", ids: last?.ids });
    this.current = last?.at ?? this.current;
    this.tell({ does: "undo" });
    this.say("Undone");
  }

  turn(by) {
    if (!this.ids.length) return;
    this.go(this.ids[(this.ids.indexOf(this.current) + by + this.ids.length) % this.ids.length]);
  }

  go(id) {
    if (!this.ids.includes(id) || id === this.current) return;
    this.current = id;
    this.tell({ does: "go" });
    this.say("");
  }

  deselect() {
    if (!this.selected.length) return;
    this.choice.ids.clear();
    this.choice.count += 1;
    this.choice.send({ ids: [], count: this.choice.count });
    this.choice.show();
  }

  typed(event) {
    if (event.key === "Escape") this.field.blur();
    if (event.key !== "Enter" || !this.field.value.trim()) return;
    const typed = this.field.value.trim(), { classes } = this.data;
    const name = classes.length ? classes.find((one) => one.toLowerCase() === typed.toLowerCase()) : typed;
    if (name === undefined) {
      this.status.textContent = this.where.textContent = `There is no class “${typed}”.`;
      return;
    }
    this.field.value = "";
    this.field.blur();
    this.answer("relabel", name);
  }

  say(words) {
    this.draw();
    const frame = this.frames.get(this.current), at = this.ids.indexOf(this.current);
    const image = frame ? [frame.shown[0].title, ...(frame.suggested ? [`looks like ${frame.suggested}`] : [])].join(", ") : "";
    this.status.textContent = `${words ? `${words}. ` : ""}Image ${at + 1} of ${this.ids.length}: ${image}`;
  }

  // Keys that app/components/keys hands on. The arrows belong to whoever has the focus and uses them.
  pressed(event) {
    const key = event.detail, inside = this.root.getRootNode().activeElement;
    const free = document.activeElement === document.body || (inside && !inside.closest(".grid"));
    const does = ANSWERS.find((one) => one.key === key)?.does;
    if (does) this.answer(does);
    else if (key === "u") this.back();
    else if (key === "/") this.field.focus();
    else if (key === "Escape" && this.selected.length) this.deselect();
    else if (free && (key === "ArrowLeft" || key === "ArrowRight")) this.turn(key === "ArrowLeft" ? -1 : 1);
    else return;
    event.preventDefault();
  }
}

function judge(component, root) {
  root.classList.add("judging");
  root.all ??= new Judge(root);
  hear(root, "rankscope-key", (event) => root.all.pressed(event));
  hear(root, "rankscope-turn", (event) => root.all.turn(event.detail));
  root.all.show(component.data, component.setTriggerValue);
}
