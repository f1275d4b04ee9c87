
// Draws the records of app/components/gallery/__init__.py. Every string goes in as text, every picture as a data URI:
// names of files and classes come from users, so nothing here may parse them as HTML.

const RIGHT = { className: "right", sign: "✓", word: "right" };
const WRONG = { className: "wrong", sign: "✗", word: "wrong" };

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
  if (card.src && card.src.startsWith("data:image/")) image.src = card.src;
  return image;
}

function verdict(card) {
  if (card.right === null || card.right === undefined) return null;
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

function drawCard(card, pick, current) {
  const mark = verdict(card);
  const button = make("button", "card");
  button.type = "button";
  button.title = card.tooltip || card.title;
  // The card's name as it is heard, in words; what is seen (rank, mark, picture, bar) says the same and is not read twice.
  button.append(make("span", "spoken", spoken(card, mark)));
  if (mark) button.classList.add(mark.className);
  if (card.id === current) button.setAttribute("aria-current", "true");

  const frame = make("span", "frame");
  frame.append(picture({ ...card, alt: "" }, "thumb"));
  if (card.rank !== null && card.rank !== undefined) frame.append(make("span", "rank", card.rank));
  if (mark) frame.append(make("span", "mark", mark.sign));

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

  button.addEventListener("click", (event) => pick(card.id, event.detail === 0));
  return button;
}

// Arrow keys walk a grid as the eye does; Tab still reaches every card.
function walk(grid) {
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

function drawSection(section, pick) {
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
  for (const card of section.cards) grid.append(drawCard(card, (id, key) => pick(section.id, id, key), section.current));
  walk(grid);
  element.append(grid);
  return element;
}

function drawQuery(query) {
  const aside = make("aside", "query");
  aside.setAttribute("aria-label", "The query");
  const frame = make("div", "query-frame");
  frame.append(picture(query, "query-image"));
  aside.append(frame);
  aside.append(make("h3", "query-title", query.title));
  for (const line of query.lines || []) aside.append(make("p", "query-line", line));
  const facts = make("dl", "facts");
  for (const [name, value, help] of query.facts || []) {
    const pair = make("div", "fact");
    if (help) pair.title = help;
    pair.append(make("dt", "", name), make("dd", "", value));
    facts.append(pair);
  }
  aside.append(facts);
  return aside;
}

// Pick the card that is some cards after the marked one (N and P of the keys component); behind the last comes the first.
function turn(section, by, pick) {
  const ids = section.cards.map((card) => card.id), at = ids.indexOf(section.current);
  if (ids.length) pick(section.id, ids[at < 0 ? 0 : (at + by + ids.length) % ids.length]);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".gallery");
  const pick = (section, id, byKey) => {
    root.dataset.refocus = byKey ? section : "";
    root.setAttribute("aria-busy", "true");
    setTriggerValue("picked", { section, id });
  };

  const main = make("div", "sections");
  for (const section of data.sections) main.append(drawSection(section, pick));
  root.classList.toggle("with-query", Boolean(data.query));
  root.classList.toggle("side-by-side", Boolean(data.columns));
  root.replaceChildren(...(data.query ? [drawQuery(data.query), main] : [main]));
  root.removeAttribute("aria-busy");
  root.querySelectorAll(".small [aria-current='true']").forEach((card) => {
    const strip = card.parentElement;
    strip.scrollLeft = Math.min(strip.scrollLeft, card.offsetLeft - strip.offsetLeft - 4);
    strip.scrollLeft = Math.max(strip.scrollLeft, card.offsetLeft - strip.offsetLeft + card.offsetWidth - strip.clientWidth + 4);
  });

  const turning = data.sections.find((section) => section.turns);
  const turned = (event) => turning && turn(turning, event.detail, pick);
  document.removeEventListener("rankscope-turn", root.turned);
  document.addEventListener("rankscope-turn", root.turned = turned);

  // Who picked by keyboard goes on from the first card of the same grid instead of losing the place.
  if (root.dataset.refocus) {
    const again = data.sections.findIndex((section) => section.id === root.dataset.refocus);
    root.dataset.refocus = "";
    main.children[again]?.querySelector(".card")?.focus({ preventScroll: true });
  }

  return () => document.removeEventListener("rankscope-turn", turned);
}
