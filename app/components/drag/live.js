// A figure that the page computes, drawn by the notebooks' script. The server only hears where the knobs are once the
// hand rests, so that address and code follow, and draws what the page does not know. Everything long is fetched once.
const REST = 150, FONT = '"Source Sans", sans-serif', CLEAR = "rgba(0,0,0,0)";
const fetched = new Map(), places = new WeakMap();

function once(address, read) {
  if (!fetched.has(address))
    fetched.set(address, fetch(new URL(address, location.origin)).then((answer) => answer.text()).then(read));
  return fetched.get(address);
}
function plotlyOf(source) {
  const module = { exports: {} };
  new Function("module", "exports", "define", source).call(globalThis, module, module.exports, undefined);
  const { react } = module.exports.react ? module.exports : globalThis.Plotly;
  const ground = { paper_bgcolor: CLEAR, plot_bgcolor: CLEAR };
  return { react: (spot, data, layout, look) =>
    react(spot, data, { ...layout, ...ground, font: { ...layout.font, family: FONT } }, look) };
}

class Place {
  constructor(root, count) {
    this.root = root;
    this.count = count;
    this.timer = 0;
  }
  async open([code, plotly, form]) {
    const [made, library, body] = await Promise.all([
      once(code, (source) => new Function(`${source}\nreturn { liveFigure, unpackedText };`)()),
      once(plotly, plotlyOf),
      once(form, (packed) => packed),
    ]);
    const told = (values) => this.moved(values);
    const known = JSON.parse(await made.unpackedText(body));
    this.live = made.liveFigure(this.root, { ...known, knobs: this.data.knobs }, library, () => this.data.dark, told);
    const width = () => this.root.clientWidth;
    let before = width();
    new ResizeObserver(() => {
      if (width() && width() !== before) this.live.draw();
      before = width();
    }).observe(this.root);
    this.hear();
  }
  moved(values) {
    clearTimeout(this.timer);
    if (JSON.stringify(values) === this.told) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.told = JSON.stringify(values);
      this.count += 1;
      this.report({ values: { ...values }, count: this.count });
    }, REST);
  }
  // What the server has by now; it counts only when that has heard everything that was moved here.
  hear() {
    const { knobs, heard, picture } = this.data;
    if (!this.live || this.timer || heard < this.count) return;
    this.count = heard;
    if (JSON.stringify(knobs) !== this.told) this.live.set(knobs);
    this.told = JSON.stringify(knobs);
    this.live.show(picture, knobs);
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".drag"), known = places.get(root);
  const place = known ?? new Place(root, data.heard);
  place.data = data;
  place.report = (what) => setTriggerValue("moved", what);
  if (known) return place.hear();
  places.set(root, place);
  root.classList.add("lab-live");
  root.querySelector(".words").setAttribute("role", "status");
  place.told = JSON.stringify(data.knobs);
  place.open(data.files);
}
