// The keyboard on every page, after app/components/keys/__init__.py. Names come from users and files: they go in as
// text. What the palette offers comes from the server; until that has answered, what is there already is narrowed down.

const KINDS = { page: "Page", run: "Run", class: "Class", image: "Image", help: "Help" };
const HELP = { kind: "help", title: "Keyboard shortcuts", note: "" };
const PAUSE = 150; // milliseconds without a key until the server is asked
const SEQUENCE = 1500; // milliseconds that a G waits for its letter
const OFF = "rankscope: single keys";
const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const TYPED = "input, textarea, select, [contenteditable=''], [contenteditable='true'], [role='textbox'], [role='combobox']";

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// Some of an input's kinds take no letters, so that a shortcut steals nothing from them.
function typesInto(element) {
  return element?.matches?.(TYPED) && !["range", "checkbox", "radio", "button", "file"].includes(element.type);
}

function modalIsOpen() {
  return Boolean(document.querySelector("dialog:modal, [role='dialog'][aria-modal='true']"));
}

// Streamlit has keys of its own: R would draw the page anew while G R is leaving it.
function taken(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

class Keys {
  constructor(root) {
    this.root = root;
    this.opener = make("button", "opener");
    this.opener.type = "button";
    this.opener.title = `Go to a page, run, class or image (${MAC ? "⌘" : "Ctrl + "}K); ? lists all shortcuts`;
    this.opener.setAttribute("aria-label", "Go to a page, run, class or image");
    this.opener.innerHTML = '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5.5 5.5"/></svg>';
    this.opener.addEventListener("click", () => this.open());
    this.palette = this.drawPalette();
    this.help = make("dialog", "help");
    root.replaceChildren(this.opener, this.palette, this.help);
    for (const dialog of [this.palette, this.help])
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }

  show(data, send) {
    const { places, words, drawn } = this.data ?? { places: [], words: null };
    this.data = data.words === null ? { ...data, places, words } : data;
    this.send = send;
    if (!this.help.open) this.drawHelp();
    if (this.palette.open) this.list();
    if (data.drawn === drawn) return;
    this.away = false;
    if (this.palette.open) this.ask();
  }

  // Streamlit follows the address as it does at Back. Whatever is said on the old page until the new one comes would
  // bring the old one back, so that nothing is asked before; nor does the server turn the page: it could be too late.
  leave(address) {
    clearTimeout(this.pause);
    this.away = true;
    history.pushState(null, "", new URL(address, location.href));
    dispatchEvent(new PopStateEvent("popstate"));
  }

  // --- the palette ------------------------------------------------------------------------------------------------

  drawPalette() {
    const dialog = make("dialog", "palette");
    dialog.setAttribute("aria-label", "Go to a page, run, class or image");
    this.field = make("input");
    Object.assign(this.field, { type: "text", autocomplete: "off", spellcheck: false, maxLength: 200 });
    this.field.placeholder = "Page, run, class or image";
    const says = {
      role: "combobox", "aria-label": "Page, run, class or image", "aria-expanded": "true", "aria-controls": "places",
      "aria-autocomplete": "list",
    };
    for (const [name, value] of Object.entries(says)) this.field.setAttribute(name, value);
    this.options = make("ul");
    this.options.id = "places";
    this.options.setAttribute("role", "listbox");
    this.options.setAttribute("aria-label", "Places to go to");
    this.said = make("p", "said");
    this.said.setAttribute("role", "status");
    dialog.append(this.field, this.options, this.said);
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("keydown", (event) => this.steer(event));
    return dialog;
  }

  open() {
    if (this.palette.open) return this.palette.close();
    if (this.help.open || modalIsOpen()) return;
    this.field.value = "";
    this.asked = null; // there may be new runs
    this.ask();
    this.palette.showModal();
    this.list();
  }

  typed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.ask(), PAUSE);
    this.list();
  }

  get words() {
    return this.field.value.trim();
  }

  ask() {
    if (this.away) return;
    if (this.words !== this.asked) this.send("asked", { words: this.words });
    this.asked = this.words;
  }

  offered() {
    const { places, words } = this.data;
    const wanted = this.words.toLowerCase().split(/\s+/);
    const holds = (place) => wanted.every((word) => `${place.title} ${place.note}`.toLowerCase().includes(word));
    const found = words === this.words ? places : places.filter(holds);
    return holds(HELP) ? [...found, HELP] : found;
  }

  list() {
    this.places = this.offered();
    this.options.replaceChildren(...this.places.map((place, at) => {
      const option = make("li");
      option.id = `place-${at}`;
      option.setAttribute("role", "option");
      option.append(make("span", "title", place.title), make("span", "note", place.note));
      option.append(make("span", "kind", KINDS[place.kind] ?? place.kind));
      option.addEventListener("pointermove", () => this.mark(at));
      option.addEventListener("click", () => this.choose(at));
      return option;
    }));
    const waits = this.data.words !== this.words;
    const count = this.places.length;
    this.said.textContent = count ? `${count} found, Enter goes there` : waits ? "Searching …" : "No page, run, class or image matches.";
    this.mark(0);
  }

  mark(at) {
    this.at = at;
    [...this.options.children].forEach((option, one) => option.setAttribute("aria-selected", String(one === at)));
    const marked = this.options.children[at];
    if (marked) this.field.setAttribute("aria-activedescendant", marked.id);
    else this.field.removeAttribute("aria-activedescendant");
    marked?.scrollIntoView({ block: "nearest" });
  }

  steer(event) {
    const count = this.places.length;
    if (event.key === "Enter") this.choose(this.at);
    else if (event.key === "ArrowDown" && count) this.mark((this.at + 1) % count);
    else if (event.key === "ArrowUp" && count) this.mark((this.at + count - 1) % count);
    else if (event.key !== "Tab") return; // the field is all that can have the focus
    event.preventDefault();
  }

  choose(at) {
    const place = this.places[at];
    if (!place) return;
    this.palette.close();
    if (place.kind === "help") this.help.showModal();
    else this.leave(place.address);
  }

  // --- the list of shortcuts ------------------------------------------------------------------------------------

  drawHelp() {
    const head = make("div", "head"), close = make("button", "close", "Close");
    const title = make("h2", "", "Keyboard shortcuts");
    title.id = "help-title";
    this.help.setAttribute("aria-labelledby", title.id);
    close.type = "button";
    close.addEventListener("click", () => this.help.close());
    head.append(title, close);
    const rows = [
      [[MAC ? "⌘" : "Ctrl", "K"], "Go to a page, run, class or image"],
      [["?"], "This list"],
      [["N"], "Next query, where a page offers queries"],
      [["P"], "Previous query"],
      [["1", "2", "3", "4"], "On Check: keep, it is the suggested class, drop, duplicate"],
      [["/"], "On Check: it is another class"],
      [["U"], "On Check: undo the last answer"],
      [["← → ↑ ↓"], "From picture to picture in a list; Enter clicks"],
      ...this.data.pages.map(({ letter, title: page }) => [["G", letter.toUpperCase()], `${page}: first G, then ${letter.toUpperCase()}`]),
    ];
    const list = make("dl");
    for (const [pressed, does] of rows) {
      const term = make("dt");
      pressed.forEach((one) => term.append(make("kbd", "", one)));
      list.append(term, make("dd", "", does));
    }
    const label = make("label"), box = make("input");
    box.type = "checkbox";
    box.checked = this.single;
    box.addEventListener("change", () => { this.single = box.checked; });
    label.append(box, "Keys without Ctrl or ⌘ are shortcuts");
    this.help.replaceChildren(head, list, label, make("p", "", "Keys never act as shortcuts while you type into a field."));
  }

  get single() {
    try { return localStorage.getItem(OFF) !== "off"; } catch { return true; }
  }

  set single(wanted) {
    try { localStorage.setItem(OFF, wanted ? "on" : "off"); } catch { /* kept for this page only, if at all */ }
  }

  // --- shortcuts --------------------------------------------------------------------------------------------------

  pressed(event) {
    const { key } = event;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && key.toLowerCase() === "k") {
      taken(event);
      this.open();
      return;
    }
    const awaits = this.sequence > event.timeStamp;
    this.sequence = 0;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
    if (typesInto(event.composedPath()[0]) || !this.single) return;
    if (this.palette.open || this.help.open || modalIsOpen()) return;
    if (awaits && this.go(key.toLowerCase())) taken(event);
    else if (key === "?") this.help.showModal();
    else if (key === "g") this.sequence = event.timeStamp + SEQUENCE;
    else if (key === "n" || key === "p")
      document.dispatchEvent(new CustomEvent("rankscope-turn", { detail: key === "n" ? 1 : -1 }));
    else if (!document.dispatchEvent(new CustomEvent("rankscope-key", { detail: key, cancelable: true }))) taken(event);
  }

  go(letter) {
    const page = this.data.pages.find((one) => one.letter === letter);
    if (page) this.leave(page.address);
    return page;
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".keys");
  root.all ??= new Keys(root);
  root.all.show(data, setTriggerValue);
  // One listener, whatever the page draws anew: the latest takes over.
  window.removeEventListener("keydown", window.rankscopeKeys, true);
  window.rankscopeKeys = (event) => root.isConnected && root.all.pressed(event);
  window.addEventListener("keydown", window.rankscopeKeys, true);
}
