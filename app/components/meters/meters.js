// Draws the records of app/components/meters/__init__.py; every string goes in as text.

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const percent = (share) => `${100 * Math.min(1, Math.max(0, share))}%`;

function drawMeter(one) {
  const element = make("figure", `meter ${one.right === null ? "" : one.right ? "right" : "wrong"}`);
  const heading = make("div", "heading");
  const sign = one.right === null ? "" : one.right ? "✓ " : "✗ ";
  heading.append(make("span", "title", one.title), make("span", "value", sign + one.value.toFixed(3)));

  const track = make("div", "track");
  track.setAttribute("role", "meter");
  track.setAttribute("aria-label", one.title);
  for (const [name, value] of [["min", 0], ["max", 1], ["now", one.value]]) track.setAttribute(`aria-value${name}`, value);
  const fill = make("div", "fill");
  fill.style.width = percent(one.value);
  track.append(fill);
  element.append(heading, track);

  if (one.against !== null) {
    const mark = make("div", "mark");
    mark.style.left = percent(one.against);
    track.append(mark);
    const told = make("div", "against", `${one.against_title} ${one.against.toFixed(3)}`);
    // The label starts at its mark, or ends there when there is no room to its right.
    if (one.against <= 0.55) told.style.marginLeft = percent(one.against);
    else { told.style.marginRight = percent(1 - one.against); told.classList.add("leftwards"); }
    element.append(told);
  }
  element.append(make("figcaption", "words", one.words));
  return element;
}

export default function (component) {
  component.parentElement.querySelector(".meters").replaceChildren(...component.data.meters.map(drawMeter));
}
