
// Draws the records of app/components/gallery/__init__.py. Every string goes in as text, every picture as a data URI or
// an address of app/served.py:
// names of files and classes come from users, so nothing here may parse them as HTML.

const RIGHT = { className: "right", sign: "✓", word: "right" };
const WRONG = { className: "wrong", sign: "✗", word: "wrong" };
const UNKNOWN = { className: "unknown", sign: "?", word: "class not known" };

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined && text !== null) element.textContent = text;
  return element;
}

function picture(card, className) {
  const image = make("img", className);
  image.alt = card.alt;
  image.draggable = false;
  image.loading = "lazy";
  if (/^(data:image|\/rankscope\/pictures)\//.test(card.src ?? "")) image.src = card.src;
  return image;
}

function verdict(card) {
  if (card.right === null || card.right === undefined) return null;
  if (card.right === "unknown") return UNKNOWN;
  return card.right ? RIGHT : WRONG;
}

function spoken(card, mark) {
  const parts = [];
  if (card.rank !== null && card.rank !== undefined) parts.push(`rank ${card.rank}`);
  if (mark) parts.push(mark.word);
  parts.push(card.title);
  if (card.subtitle) parts.push(card.subtitle);
  if (card.value) parts.push(card.value);
  if (card.move) parts.push(card.move.spoken);
  if (card.bar) parts.push(card.bar.text);
  return parts.join(", ");
}

function drawBar(bar) {
  const element = make("span", bar.wrong ? "bar against" : "bar");
  const track = make("span", "track");
  const fill = make("span", "fill");
  fill.style.width = `${100 * Math.min(1, Math.max(0, bar.share))}%`;
  track.append(fill);
  element.append(track, make("span", "told", bar.text));
  return element;
}

function drawCard(card, pick, current, choice) {
  const mark = verdict(card);
  const button = make("button", "card");
  button.type = "button";
  button.title = card.tooltip || card.title;
  button.dataset.id = card.id;
  // The card's name as it is heard, in words; what is seen (rank, mark, picture, bar) says the same and is not read twice.
  button.append(make("span", "spoken", spoken(card, mark)));
  if (mark) button.classList.add(mark.className);
  if (card.id === current) button.setAttribute("aria-current", "true");

  const frame = make("span", "frame");
  frame.append(picture({ ...card, alt: "" }, "thumb"));
  if (card.rank !== null && card.rank !== undefined) frame.append(make("span", "rank", card.rank));
  if (mark) frame.append(make("span", "mark", mark.sign));
  if (choice) frame.append(make("span", "box"));

  const seen = [frame, make("span", "title", card.title)];
  const line = make("span", "line");
  line.append(make("span", "value", card.value || ""));
  if (card.move) line.append(make("span", `move ${card.move.way}`, card.move.text));
  if (card.value || card.move) seen.push(line);
  if (card.bar) seen.push(drawBar(card.bar));
  if (card.cut) button.classList.add("cut");
  if (card.subtitle) seen.push(make("span", "subtitle", card.subtitle));
  for (const part of seen) part.setAttribute("aria-hidden", "true");
  button.append(...seen);

  button.addEventListener("click", (event) => {
    if (choice && (!choice.picks || event.ctrlKey || event.metaKey || event.shiftKey || inBox(button, event)))
      choice.toggle(card.id, event.shiftKey);
    else pick(card.id, event.detail === 0);
  });
  choice?.listen(button, card.id);
  return button;
}

// By the place of the click: not every browser tells which part of a button was hit.
function inBox(button, event) {
  const box = button.querySelector(".box").getBoundingClientRect();
  const { clientX: x, clientY: y } = event;
  return event.detail > 0 && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
}

// Which cards are selected. What is clicked here holds until the server has heard of the last click.
class Choice {
  constructor() {
    Object.assign(this, { cards: new Map(), ids: new Set(), count: 0 });
  }

  hear({ selected, heard, picks }, send) {
    Object.assign(this, { picks, send });
    if (this.count <= heard) Object.assign(this, { ids: new Set(selected), count: heard });
    this.show();
  }

  listen(button, id) {
    this.cards.set(id, [...(this.cards.get(id) ?? []), button]);
    button.setAttribute("aria-keyshortcuts", "X");
    button.prepend(make("span", "spoken chosen"));
    button.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.toggle(id, event.shiftKey);
    });
  }

  toggle(id, range) {
    const order = [...this.cards.keys()], on = !this.ids.has(id);
    const [from, to] = [order.indexOf(this.last), order.indexOf(id)].sort((a, b) => a - b);
    for (const one of range && from >= 0 ? order.slice(from, to + 1) : [id]) this.ids[on ? "add" : "delete"](one);
    this.last = id;
    this.count += 1;
    this.show();
    this.send({ ids: order.filter((one) => this.ids.has(one)), count: this.count });
  }

  show() {
    for (const [id, buttons] of this.cards)
      for (const button of buttons) {
        button.classList.toggle("selected", this.ids.has(id));
        button.querySelector(".chosen").textContent = this.ids.has(id) ? "selected, " : "";
      }
  }
}

// A grid is one stop of Tab: the marked card, or the one that was last in focus. Arrow keys walk it as the eye does.
function walk(grid) {
  const rove = (target) => [...grid.children].forEach((card) => { card.tabIndex = card === target ? 0 : -1; });
  rove(grid.querySelector("[aria-current='true']") ?? grid.firstElementChild);
  grid.addEventListener("focusin", (event) => rove(event.target));
  grid.addEventListener("keydown", (event) => {
    const cards = [...grid.children];
    const at = cards.indexOf(event.target);
    if (at < 0) return;
    const top = cards[0].offsetTop;
    const columns = Math.max(1, cards.findIndex((card) => card.offsetTop > top) < 0
      ? cards.length : cards.findIndex((card) => card.offsetTop > top));
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    const target = cards[at + (steps[event.key] ?? NaN)]
      ?? (event.key === "Home" ? cards[0] : event.key === "End" ? cards[cards.length - 1] : undefined);
    if (!target) return;
    event.preventDefault();
    target.focus();
  });
}

function drawSection(section, pick, choice) {
  const element = make("section", `section ${section.size || "normal"}`);
  const heading = make("div", "heading");
  heading.append(make("h3", "", section.title));
  if (section.note) heading.append(make("p", "note", section.note));
  element.append(heading);
  if (!section.cards.length) {
    element.append(make("p", "empty", section.empty || ""));
    return element;
  }
  const grid = make("div", "grid");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", section.title);
  for (const card of section.cards) grid.append(drawCard(card, (id, key) => pick(section.id, id, key), section.current, choice));
  walk(grid);
  element.append(grid);
  return element;
}

function drawQuery(query, label = "The query") {
  const aside = make("aside", "query");
  aside.setAttribute("aria-label", label);
  const frame = make("div", "query-frame");
  frame.append(picture(query, "query-image"));
  aside.append(frame);
  aside.append(make("h3", "query-title", query.title));
  for (const line of query.lines || []) aside.append(make("p", "query-line", line));
  const facts = query.facts || [];
  aside.append(drawFacts(facts.slice(0, SEEN)));
  if (facts.length > SEEN) {
    const more = make("details", "more");
    more.append(make("summary", "", "More numbers"), drawFacts(facts.slice(SEEN)));
    aside.append(more);
  }
  return aside;
}

// Numbers of a query that are seen at once.
const SEEN = 4;

function drawFacts(facts) {
  const list = make("dl", "facts");
  for (const [name, value, help] of facts) {
    const pair = make("div", "fact");
    if (help) pair.title = help;
    pair.append(make("dt", "", name), make("dd", "", value));
    list.append(pair);
  }
  return list;
}

// Lines between the same images of two lists, one above the other: solid for right ones, dashed for wrong ones, dotted
// for those whose class is not known.
// They lie under the cards and follow the width of the page; of the card under the hand the line is thick.
function link(main) {
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.classList.add("lines");
  lines.setAttribute("aria-hidden", "true");
  main.prepend(lines);
  const [above, below] = [...main.querySelectorAll(".section")].map((one) => [...one.querySelectorAll(".card")]);
  const twins = above.flatMap((card) => below.filter((other) => other.dataset.id === card.dataset.id).map((other) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.classList.add(["wrong", "unknown"].find((one) => card.classList.contains(one)) ?? "right");
    for (const one of [card, other]) for (const [on, way] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]])
      one.addEventListener(on, () => [line, card, other].forEach((part) => part.classList.toggle("twin", way)));
    return lines.appendChild(line), [line, card, other];
  }));
  const draw = () => {
    const box = main.getBoundingClientRect();
    for (const [line, card, other] of twins) {
      const from = card.getBoundingClientRect(), to = other.getBoundingClientRect();
      const x = from.left + from.width / 2 - box.left, y = from.bottom - box.top + 2;
      const u = to.left + to.width / 2 - box.left, v = to.top - box.top - 2, half = (y + v) / 2;
      line.setAttribute("d", `M${x} ${y}C${x} ${half} ${u} ${half} ${u} ${v}`);
    }
  };
  new ResizeObserver(draw).observe(main);
}

// The first stop of Tab on a page with results leads to the first of them.
function offerSkip(root) {
  const skip = make("nav", "skip-to-results"), button = make("button", "", "Skip to results");
  skip.setAttribute("aria-label", "Results");
  button.addEventListener("click", () => root.querySelector(".sections .card[tabindex='0']")?.focus());
  skip.append(button);
  document.querySelector(".skip-to-results")?.remove();
  document.body.prepend(skip);
  return () => skip.remove();
}

// Pick the card that is some cards after the marked one (N and P of the keys component); behind the last comes the first.
function turn(section, by, pick) {
  const ids = section.cards.map((card) => card.id), at = ids.indexOf(section.current);
  if (ids.length) pick(section.id, ids[at < 0 ? 0 : (at + by + ids.length) % ids.length]);
}

function draw(root, data, pick) {
  root.choice = data.selected ? Object.assign(root.choice ?? new Choice(), { cards: new Map() }) : null;
  const main = make("div", "sections");
  for (const section of data.sections) main.append(drawSection(section, pick, root.choice));
  root.classList.toggle("with-query", Boolean(data.query));
  root.classList.toggle("stacked", Boolean(data.stacked));
  root.replaceChildren(...(data.query ? [drawQuery(data.query), main] : [main]));
  if (data.stacked) link(main);
}

// As long as the page holds `root`: Streamlit clears up a moment before it draws anew, and a key may come between.
function hear(root, name, act) {
  root.hears ??= {};
  root.hears[name] ??= (event) => root.isConnected ? act(event) : document.removeEventListener(name, root.hears[name]);
  document.addEventListener(name, root.hears[name]);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".gallery");
  if (data.judge) return judge(component, root);
  const pick = (section, id, byKey) => {
    root.dataset.refocus = byKey ? section : "";
    root.setAttribute("aria-busy", "true");
    root.send("picked", { section, id });
  };
  root.send = setTriggerValue;

  const drawing = JSON.stringify([data.sections, data.query, data.stacked, Boolean(data.selected)]);
  if (root.drawing !== drawing) draw(root, data, pick); // a choice alone changes no picture
  root.drawing = drawing;
  if (data.selected) root.choice.hear(data, (value) => root.send("chosen", value));
  root.removeAttribute("aria-busy");
  root.querySelectorAll(".small [aria-current='true']").forEach((card) => {
    const strip = card.parentElement;
    strip.scrollLeft = Math.min(strip.scrollLeft, card.offsetLeft - strip.offsetLeft - 4);
    strip.scrollLeft = Math.max(strip.scrollLeft, card.offsetLeft - strip.offsetLeft + card.offsetWidth - strip.clientWidth + 4);
  });

  const turning = data.sections.find((section) => section.turns);
  hear(root, "rankscope-turn", (event) => root.turned(event));
  root.turned = (event) => turning && turn(turning, event.detail, pick);

  // Who picked by keyboard goes on from the first card of the same grid instead of losing the place.
  if (root.dataset.refocus) {
    const again = data.sections.findIndex((section) => section.id === root.dataset.refocus);
    root.dataset.refocus = "";
    root.querySelectorAll(".sections > .section")[again]?.querySelector(".card")?.focus({ preventScroll: true });
  }

  return data.query ? offerSkip(root) : undefined;
}
