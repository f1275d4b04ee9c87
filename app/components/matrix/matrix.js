// Draws the record of app/components/matrix/__init__.py; every string goes in as text.

const STRONGEST = { wrong: 70, right: 55 };  // per cent of the colour, so that the numbers can be read in every cell
const WITH_NUMBERS = 30;  // classes up to which a cell has room for its number

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const percent = (share) => (share > 0 && share < 0.005 ? "below 1%" : `${Math.round(100 * share)}%`);

// What a cell says: "rose taken for tulip: 40% of its neighbours, 8 of 20".
function words(data, row, column) {
  const name = data.names[row], count = data.counts[row][column], all = data.looked[row];
  if (!all) return `${name} has no query here`;
  const told = `${percent(count / all)} of its neighbours, ${count.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  return row === column ? `${name}, own class: ${told}` : `${name} taken for ${data.names[column]}: ${told}`;
}

function drawCell(data, row, column, largest) {
  const cell = make("td"), count = data.counts[row][column], share = count / (data.looked[row] || 1);
  cell.tabIndex = -1;
  cell.dataset.row = row;
  cell.dataset.column = column;
  cell.setAttribute("aria-label", words(data, row, column));
  const kind = row === column ? "right" : "wrong";
  if (count || row === column) cell.classList.add(kind);
  if (!count) return cell;
  cell.classList.add("full");
  const strength = row === column ? share : share / largest;
  cell.style.setProperty("--mix", `${Math.max(6, STRONGEST[kind] * strength).toFixed(1)}%`);
  if (data.names.length <= WITH_NUMBERS) cell.textContent = Math.round(100 * share) || "";
  return cell;
}

function heading(scope, name) {
  const cell = make("th"), label = make("span", "", name);
  cell.scope = scope;
  cell.title = name;
  cell.append(label);
  return cell;
}

function drawTable(data, largest) {
  const table = make("table"), head = make("tr"), body = make("tbody");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", `${data.title}. ${data.note}`);
  head.append(make("td", "corner", "class ↓ taken for →"), ...data.names.map((name) => heading("col", name)));
  data.names.forEach((name, row) => {
    const line = make("tr");
    line.append(heading("row", name), ...data.names.map((_, column) => drawCell(data, row, column, largest)));
    body.append(line);
  });
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  return table;
}

// One cell is in the order of the Tab key; the arrows go on from there.
function walk(table, size, read) {
  const at = (row, column) => table.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  const enter = (cell) => {
    table.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    cell.tabIndex = 0;
  };
  enter(at(0, 0));
  table.addEventListener("focusin", (event) => {
    if (!event.target.dataset.row) return;
    enter(event.target);
    read(event.target);
  });
  table.addEventListener("keydown", (event) => {
    const row = Number(event.target.dataset.row), column = Number(event.target.dataset.column);
    const steps = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      Home: [row, 0], End: [row, size - 1],
    };
    const target = steps[event.key] && at(...steps[event.key]);
    if (!target) return;
    event.preventDefault();
    target.focus();
  });
}

function drawLegend(largest) {
  const legend = make("div", "legend");
  const scale = make("span", "scale");
  scale.style.setProperty("--most", `${STRONGEST.wrong}%`);
  const own = make("span", "sample");
  own.style.setProperty("--mix", `${STRONGEST.right}%`);
  legend.append(
    make("span", "", "Share of neighbours of a wrong class: 0%"), scale, make("span", "", percent(largest)),
    own, make("span", "", "own class (100% at full colour)"),
  );
  return legend;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".matrix");
  const drawn = JSON.stringify(data);
  const size = data.names.length;
  root.pick = (row, column) => setTriggerValue("picked", { row, column });
  if (root.drawn === drawn) return;  // the focus stays where it is
  root.drawn = drawn;

  const wrong = data.counts.flatMap((line, row) => line.map((count, column) => (row === column ? 0 : count / (data.looked[row] || 1))));
  const largest = Math.max(1e-9, ...wrong);
  const readout = make("p", "readout", "Point at a cell to read it; click it to see these images on Browse.");
  const read = (cell) => { readout.textContent = cell.getAttribute("aria-label"); };
  const table = drawTable(data, largest);
  walk(table, size, read);
  const pick = (event) => {
    const cell = event.target.closest?.("td.full");
    if (cell) root.pick(Number(cell.dataset.row), Number(cell.dataset.column));
  };
  table.addEventListener("click", pick);
  table.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(event); });
  table.addEventListener("pointerover", (event) => { if (event.target.dataset?.row) read(event.target); });

  const caption = make("div", "heading"), frame = make("div", "frame");
  caption.append(make("h3", "", data.title), make("p", "note", data.note));
  frame.append(table);
  root.style.setProperty("--classes", size);
  root.replaceChildren(caption, frame, readout, drawLegend(largest));
}
