"""Frames a second of the dashboard's map in headless Chromium, by software GL where there is no graphics processor.

    python scripts/map_frames.py [--points 10000 100000 1000000] [--seconds 3]

The map is 900 x 600 pixels, its view is panned and zoomed all the time. `all`: every point in every frame. `adaptive`:
as the dashboard does it, fewer while the map moves. No network: Chromium's requests are answered from the files here.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

from playwright.sync_api import Route, sync_playwright

CODE = Path(__file__).parent.parent / "lab" / "dashboard" / "components" / "scatter"
FLAGS = ("--no-sandbox", "--headless", "--use-gl=angle", "--use-angle=swiftshader", "--disable-gpu", "--no-first-run")
PAGE = """<!doctype html><link rel=stylesheet href=scatter.css><body style="margin:0">
<div class=scatter style="width:1168px"></div><script type=module>
import { Scatter } from "./map.js";
function data(n) {
  let seed = 7;
  const even = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 4294967296;
  const normal = () => Math.sqrt(-2 * Math.log(even() + 1e-9)) * Math.cos(6.2832 * even());
  const middles = Array.from({ length: 30 }, () => [1.4 * even() - 0.7, 1.4 * even() - 0.7, 0.03 + 0.06 * even()]);
  const places = new Float32Array(2 * n), categories = new Uint8Array(n);
  for (let at = 0; at < n; at++) {
    const [x, y, wide] = middles[at % 30];
    places[2 * at] = x + wide * normal(); places[2 * at + 1] = y + wide * normal(); categories[at] = at % 30 % 8;
  }
  return { places, categories };
}
const file = (numbers, kind) => URL.createObjectURL(new Blob([numbers])) + "#." + kind;
window.measure = async (n, all, milliseconds) => {
  const { places, categories } = data(n), root = document.querySelector(".scatter"), map = new Scatter(root);
  map.stage.style.width = "900px"; map.stage.style.height = "600px";
  const legend = [...Array(8).keys()].map((one) => ({ name: `${one}`, count: n / 8, colour: `hsl(${45 * one} 70% 45%)`,
    mark: ["circle", "square", "triangle", "diamond", "plus", "cross", "star", "pentagon"][one] }));
  const begun = performance.now(), frame = () => new Promise((done) => requestAnimationFrame(done));
  await map.show({ of: "", count: n, legend, filters: [], pair: null, pictures: "", title: "", alt: "", picked: null,
    lines: [], files: { ids: file(Int32Array.from({ length: n }, (_, at) => at), "i4"), after: file(places, "f4"),
      names: file(new Int32Array(n), "i4"), categories: file(categories, "u1"),
      known: file(new TextEncoder().encode("[\\"a\\"]"), "u1") } }, () => {});
  await frame(); await frame();
  const shown = performance.now() - begun;
  const turn = (t) => {
    const scale = map.view.fit * (1.2 + Math.sin(t / 2));
    Object.assign(map.view, { x: 0.2 * Math.sin(t), y: 0.1 * Math.cos(t), scale });
    all ? map.draw() : map.moving();
  };
  for (let one = 0; one < 12; one++) { turn(one / 20); await frame(); }
  const start = performance.now();
  let frames = 0, points = 0;
  for (; performance.now() - start < milliseconds; frames++) {
    turn(frames / 20); await frame(); points += all ? n : Math.min(n, map.most ?? n);
  }
  const { gl } = map.painter;
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // wait for what is still being drawn
  const fps = 1000 * frames / (performance.now() - start);
  return { points: n, mode: all ? "all" : "adaptive", "frames a second": Math.round(10 * fps) / 10,
    "points a frame": Math.round(points / frames), "first picture, ms": Math.round(shown) };
};
window.ready = true;
</script>"""


def answer(route: Route) -> None:
    name = route.request.url.rpartition("/")[2]
    if not name:
        route.fulfill(body=PAGE, content_type="text/html")
        return
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    route.fulfill(body=(CODE / name).read_text("utf-8"), content_type=kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        for points in options.points:
            for mode in (True, False):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.route("http://map.test/*", answer)
                page.goto("http://map.test/")
                page.wait_for_function("window.ready")
                load = os.getloadavg()[0]
                told = page.evaluate(f"measure({points}, {json.dumps(mode)}, {1000 * options.seconds})")
                print(json.dumps(told | {"load": round(load, 1)}), flush=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
