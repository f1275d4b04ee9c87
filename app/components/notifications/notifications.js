// The connection to the server, one a tab: it stays when Streamlit changes pages, which loads nothing anew. The server
// says on it what has changed of what the page follows (app/shared/changes), and which runs have ended. Those are told
// on the page, in the tab's title, and on the desktop where it may.

const WANTED = "rankscope desktop messages";
const LONGEST = 10_000; // milliseconds between two attempts to reach a server that is gone
const asker = (window.rankscopeBell ??= { latest: null, socket: null, title: null, said: "", pause: 500 });
const followed = (window.rankscopeFollowed ??= new Map());

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

// Say what the page follows, when that is news to the server.
function say() {
  if (asker.socket?.readyState !== WebSocket.OPEN) return;
  const follows = {};
  for (const { data } of followed.values()) {
    if (data.number !== undefined) follows[data.number] = Math.min(data.version, follows[data.number] ?? Infinity);
  }
  const words = JSON.stringify({ after: asker.latest, follows });
  if (words === asker.said) return;
  asker.said = words;
  asker.socket.send(words);
}

function hear({ latest, ended, changed }) {
  if (asker.latest !== null) ended.filter((one) => one.number > asker.latest).forEach((one) => tell(one, asker.colours));
  asker.latest = latest; // a server that was started anew counts from 0 again
  for (const part of followed.values()) {
    const version = changed[part.data.number];
    if (version !== undefined && version !== part.data.version) part.due = true;
  }
}

function connect(address) {
  const place = new URL(address, location.href);
  place.protocol = place.protocol.replace("http", "ws");
  asker.socket = new WebSocket(place);
  asker.socket.onopen = () => {
    asker.pause = 500;
    asker.said = "";
    say();
  };
  asker.socket.onmessage = (message) => hear(JSON.parse(message.data));
  asker.socket.onclose = () => {
    setTimeout(() => connect(address), asker.pause);
    asker.pause = Math.min(2 * asker.pause, LONGEST);
  };
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
  if (asker.socket) return;
  // Parts of a page come and go together: what they follow is said once.
  let waiting = null;
  addEventListener("rankscope-followed", () => {
    clearTimeout(waiting);
    waiting = setTimeout(say, 50);
  });
  connect(data.address);
}
