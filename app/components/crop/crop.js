// A rectangle on a picture: drawn by pulling, moved by the arrow keys, made larger or smaller by Shift and the arrow
// keys. Boxes are [left, top, right, bottom] as shares of the picture.

const STEP = 0.04, SETTLED = 600; // a key's step, and ms after the last key until the server hears of it
const clamp = (value) => Math.min(1, Math.max(0, value));

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

function place(frame, stage, box) {
  frame.hidden = !box;
  stage.setAttribute("aria-valuetext", box ? `from ${box.slice(0, 2).map(percent).join(", ")} to ${box.slice(2).map(percent).join(", ")}` : "the whole picture");
  if (!box) return;
  const [left, top, right, bottom] = box;
  Object.assign(frame.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * (right - left)}%`, height: `${100 * (bottom - top)}%` });
}

const percent = (share) => `${Math.round(100 * share)} %`;

function byKey(box, event, smallest) {
  const [dx, dy] = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
  const [left, top, right, bottom] = box ?? [0.25, 0.25, 0.75, 0.75];
  if (event.shiftKey) return [left, top, clamp(Math.max(left + smallest, right + dx)), clamp(Math.max(top + smallest, bottom + dy))];
  const x = Math.min(1 - right, Math.max(-left, dx)), y = Math.min(1 - bottom, Math.max(-top, dy));
  return [left + x, top + y, right + x, bottom + y];
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".crop");
  const had = root.contains(root.getRootNode().activeElement);
  const stage = make("div", "stage"), image = make("img"), frame = make("div", "box");
  Object.assign(stage, { tabIndex: 0 });
  stage.setAttribute("role", "slider");
  stage.setAttribute("aria-label", "Part of the picture to search with");
  for (const [name, value] of [["valuemin", 0], ["valuemax", 1], ["valuenow", data.box ? 1 : 0]]) stage.setAttribute(`aria-${name}`, value);
  image.alt = data.alt;
  image.draggable = false;
  if (data.src.startsWith("data:image/")) image.src = data.src;
  let box = data.box, start = null, timer = null;
  const tell = () => setTriggerValue("drawn", { box });
  const at = (event) => {
    const area = stage.getBoundingClientRect();
    return [clamp((event.clientX - area.left) / area.width), clamp((event.clientY - area.top) / area.height)];
  };
  stage.addEventListener("pointerdown", (event) => {
    start = at(event);
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!start) return;
    const [x, y] = at(event);
    place(frame, stage, [Math.min(x, start[0]), Math.min(y, start[1]), Math.max(x, start[0]), Math.max(y, start[1])]);
  });
  stage.addEventListener("pointerup", (event) => {
    if (!start) return;
    const [x, y] = at(event), new_box = [Math.min(x, start[0]), Math.min(y, start[1]), Math.max(x, start[0]), Math.max(y, start[1])];
    start = null;
    if (Math.min(new_box[2] - new_box[0], new_box[3] - new_box[1]) < data.smallest) return place(frame, stage, box);
    box = new_box;
    tell();
  });
  stage.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    box = byKey(box, event, data.smallest);
    place(frame, stage, box);
    clearTimeout(timer);
    timer = setTimeout(tell, SETTLED);
  });
  stage.append(image, frame);
  root.replaceChildren(stage, make("p", "", "Drag a rectangle over the part to search with. Arrow keys move it; with Shift they resize it."));
  place(frame, stage, box);
  if (had) stage.focus({ preventScroll: true });
}
