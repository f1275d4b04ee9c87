// A part of a page that follows something on the server, or that is run again after some seconds. It asks Streamlit for
// a new run only while nothing else is under way. A request carries the value of every control, so that one sent before
// the person's last choice was answered would undo that choice.

const QUIET = 400; // milliseconds after the last click or key until a request may be sent
const AGAIN = 10_000; // milliseconds after which a request without an answer is repeated
const INPUTS = ["pointerdown", "pointerup", "keydown", "input", "change", "popstate"];

function watchInputs() {
  const inputs = { at: -Infinity, held: false };
  for (const kind of INPUTS) {
    addEventListener(kind, () => {
      inputs.at = performance.now();
      if (kind === "pointerdown") inputs.held = true;
      if (kind === "pointerup") inputs.held = false;
    }, true);
  }
  addEventListener("pointercancel", () => { inputs.held = false; }, true);
  return inputs;
}

// A tab has one of each, whichever part was drawn first.
const inputs = (window.rankscopeInputs ??= watchInputs());
const followed = (window.rankscopeFollowed ??= new Map());
const drawn = new WeakMap(); // what each place was last given, also while Streamlit draws it anew

function quiet() {
  if (document.hidden || inputs.held || performance.now() - inputs.at < QUIET) return false;
  const state = document.querySelector("[data-test-script-state]")?.dataset.testScriptState;
  return state === undefined || state === "notRunning" || state === "compilationError";
}

function request(part, changed) {
  const now = performance.now();
  if (!part.due || !quiet() || now - (part.requested ?? -Infinity) < AGAIN) return;
  part.requested = now;
  changed();
}

function seconds(place, begun) {
  const words = `${Math.floor((performance.now() - begun) / 1000)} s`;
  if (place.textContent !== words) place.textContent = words;
}

function partOf(place, data) {
  const before = drawn.get(place);
  if (before && JSON.stringify(before.data) === JSON.stringify(data)) return before;
  const part = { data, due: false };
  if (data.later !== undefined) part.at = performance.now() + 1000 * data.later;
  if (data.seconds != null) part.begun = performance.now() - 1000 * data.seconds;
  drawn.set(place, part);
  return part;
}

function announce() {
  window.dispatchEvent(new Event("rankscope-followed"));
}

export default function ({ data, parentElement, setTriggerValue }) {
  const place = parentElement.querySelector(".changes");
  const part = partOf(parentElement, data);
  clearInterval(followed.get(parentElement)?.timer);
  clearInterval(part.timer);
  followed.set(parentElement, part);
  part.timer = setInterval(() => {
    if (part.at !== undefined && performance.now() >= part.at) part.due = true;
    if (part.begun !== undefined) seconds(place, part.begun);
    request(part, () => setTriggerValue("changed", true));
  }, 100);
  announce();
  return () => {
    clearInterval(part.timer);
    if (followed.get(parentElement) === part) followed.delete(parentElement);
    announce();
  };
}
