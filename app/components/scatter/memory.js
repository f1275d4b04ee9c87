// What a person did to the map and the server need not know stands in the page's address all the same: zoom, filters and
// contours. The browser writes it there without asking the server, which hands it on and back with the next answer.

const PAUSE = 400; // milliseconds without a change until the address is written

export const Memory = (Base) => class extends Base {
  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => this.root.isConnected && this.view && this.write(), PAUSE);
  }

  write() {
    const { x, y, scale, fit, home } = this.view, factor = scale / fit;
    const moved = Math.abs(factor - 1) > 1e-3 || Math.hypot(x - home[0], y - home[1]) * scale > 1;
    const brushed = [...this.brushed].map(([name, values]) => [name, [...values].sort((a, b) => a - b)]);
    const words = {
      zoom: moved ? [x, y, factor].map((one) => one.toFixed(4)).join(",") : "",
      bars: brushed.length ? JSON.stringify(Object.fromEntries(brushed)) : "",
      contours: this.contoured ? "yes" : "",
    };
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(words))
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  // An address may say anything: what does not fit these points is passed over.
  recallFilters({ bars, contours }) {
    this.contoured = contours === "yes";
    this.contours.setAttribute("aria-pressed", String(this.contoured));
    try {
      for (const [name, values] of Object.entries(JSON.parse(bars || "{}"))) {
        const filter = this.data.filters.find((one) => one.name === name);
        const known = values.filter((one) => filter?.labels[one] !== undefined);
        if (known.length && known.length < filter.labels.length) this.brushed.set(name, new Set(known));
      }
    } catch { /* no filter then */ }
    if (this.brushed.size) this.filters.open = true;
  }

  recallZoom({ zoom }) {
    const [x, y, factor] = (zoom || "").split(",").map(Number);
    if (![x, y, factor].every(Number.isFinite)) return;
    const { fit } = this.view;
    this.view = { ...this.view, x, y, scale: fit * Math.min(2000, Math.max(0.5, factor)) };
  }
};
