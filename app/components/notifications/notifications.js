// Asks the server which runs have ended, and says so: on the page, in the tab's title, and on the desktop where it may.
// One asker a tab: it stays when Streamlit changes pages, which loads nothing anew.

const WANTED = "rankscope desktop messages";
const asker = (window.rankscopeBell ??= { latest: null, timer: null, title: null });

function wanted() {
  return localStorage.getItem(WANTED) === "yes" && "Notification" in window && Notification.permission === "granted";
}

function make(tag, style, text) {
  const element = document.createElement(tag);
  element.style.cssText = style;
  if (text !== undefined) element.textContent = text;
  return element;
}

function board(colours) {
  let found = document.getElementById("rankscope-messages");
  if (!found) {
    found = make("div", "position:fixed;right:16px;bottom:16px;z-index:1000000;display:grid;gap:8px;max-width:min(26rem,calc(100vw - 32px))");
    found.id = "rankscope-messages";
    found.setAttribute("role", "status");
    found.setAttribute("aria-label", "Runs that have ended");
    document.body.append(found);
  }
  Object.assign(found.style, colours);
  return found;
}

function show(ending, colours) {
  const good = ending.state === "finished";
  const box = make("div", `background:inherit;border:1px solid currentColor;border-left:6px solid ${good ? "#0072b2" : "#d55e00"};border-radius:6px;padding:10px 12px;display:flex;gap:12px;align-items:start;box-shadow:0 2px 10px #0003;font-size:0.9rem;line-height:1.4`);
  const words = make("span", "flex:1;min-width:0;overflow-wrap:anywhere", `${good ? "✓" : "✗"} ${ending.text} `);
  const link = make("a", "color:inherit;font-weight:600", "Watch it");
  link.href = `/watch?watched=${encodeURIComponent(ending.run)}`;
  words.append(link);
  const close = make("button", "all:unset;cursor:pointer;font-weight:700;padding:0 6px;outline:revert", "×");
  close.setAttribute("aria-label", `Close the message about ${ending.run}`);
  close.onclick = () => box.remove();
  box.append(words, close);
  const messages = board(colours);
  messages.append(box);
  while (messages.children.length > 3) messages.firstChild.remove();
}

function mark(ending) {
  if (!document.hidden) return;
  asker.title ??= document.title;
  document.title = `${ending.state === "finished" ? "✓" : "✗"} ${ending.run} ${ending.state}`;
  document.addEventListener("visibilitychange", () => {
    if (asker.title !== null) document.title = asker.title;
    asker.title = null;
  }, { once: true });
}

function tell(ending, colours) {
  show(ending, colours());
  mark(ending);
  if (!wanted()) return;
  try {
    const message = new Notification(`${ending.run} ${ending.state}`, { body: ending.text, tag: `rankscope ${ending.run}` });
    message.onclick = () => { window.focus(); message.close(); };
  } catch { /* some phones show them from a service worker only; the page has said it */ }
}

async function ask(data, colours) {
  try {
    const answer = await fetch(`${data.address}${asker.latest === null ? "" : `?after=${asker.latest}`}`);
    if (!answer.ok) return;
    const { latest, ended } = await answer.json();
    if (asker.latest !== null && latest >= asker.latest) ended.forEach((one) => tell(one, colours));
    asker.latest = latest; // a server that was started anew counts from 0 again
  } catch { /* no server for the moment; asked again later */ }
}

function drawButton(root) {
  const can = "Notification" in window && window.isSecureContext;
  const blocked = can && Notification.permission === "denied";
  const on = can && wanted();
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = on ? "Stop desktop messages" : "Tell me on the desktop when a run ends";
  button.disabled = !can || blocked;
  button.onclick = async () => {
    const granted = on || (await Notification.requestPermission()) === "granted";
    localStorage.setItem(WANTED, granted && !on ? "yes" : "no");
    drawButton(root);
  };
  const words = document.createElement("p");
  words.textContent = !can
    ? "This browser shows desktop messages only for https, or for the machine that it runs on. Open pages of the dashboard show the message in any case."
    : blocked
      ? "The browser blocks desktop messages of this dashboard; its settings for this site allow them again."
      : on
        ? "On, as long as a tab with the dashboard is open."
        : "Open pages of the dashboard show a message in any case.";
  root.replaceChildren(button, words);
}

export default function (component) {
  const { data, parentElement } = component;
  const root = parentElement.querySelector(".notifications");
  if (data.button) drawButton(root);
  asker.colours = () => {
    const style = getComputedStyle(root.isConnected ? root : document.body);
    const ground = style.getPropertyValue("--st-background-color") || "#fff";
    return { background: ground, color: style.getPropertyValue("--st-text-color") || style.color, fontFamily: style.fontFamily };
  };
  if (asker.timer !== null) return;
  asker.timer = setInterval(() => ask(data, () => asker.colours()), 1000 * data.every);
  ask(data, () => asker.colours());
}
