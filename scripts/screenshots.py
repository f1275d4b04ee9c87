"""Everything that is made or measured in a headless Chromium, for docs/images and docs/benchmarks.md.

    python -m scripts.screenshots pictures runs                     # all of docs/images, from `make demo SERVE=0`
    python -m scripts.screenshots pictures runs browse --out /tmp   # one, elsewhere
    python -m scripts.screenshots times runs                        # seconds until each page is at rest
    python -m scripts.screenshots minute                            # the first minute of `lab demo`, a picture a second
    python -m scripts.screenshots playground                        # the playground as it plays, for README
    python -m scripts.screenshots claims                            # the figures of docs/claims.md
    python -m scripts.screenshots frames                            # milliseconds of a frame of it, with 64 points

A picture is 1280 x 900 pixels, in the colours of its line below, and kept as WebP. Look at each before it is
committed: a page that has changed may need another address, or another place to click.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import pkgutil
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, expect, sync_playwright

import app.views
import lab
from lab.cli.app import beside
from lab.core.installed import children
from lab.papers.tables import TITLES
from scripts.studies.catalogue import studies

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PORT, PATIENCE = 8519, 180_000
"""Of the dashboard that is looked at, and milliseconds for a page that lays out a map first."""
HERE = f"http://127.0.0.1:{PORT}/"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--no-first-run",
)
RUN = "run=demo-recall_at_k"


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


def lasso(page: Page) -> None:
    """Draw around the points at the bottom of the map."""
    box = page.locator(".stage > canvas").bounding_box()
    assert box is not None
    round_it = [
        (0.36, 0.80),
        (0.42, 0.76),
        (0.50, 0.73),
        (0.55, 0.82),
        (0.52, 0.92),
        (0.44, 0.97),
        (0.37, 0.91),
    ]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in round_it]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()
    expect(page.locator(".legend .summary")).to_contain_text("of")


def palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("heart")
    expect(page.get_by_role("option").first).to_be_visible()


@dataclass(frozen=True)
class Shot:
    """A picture. drawn: what shows that the page is there. act: what to do before the picture is taken."""

    address: str
    drawn: str
    scheme: str = "light"
    act: Callable[[Page], None] | None = None


SHOTS = {
    "browse": Shot(f"browse?{RUN}&query=1831", ".query-title"),
    "map": Shot(f"map?{RUN}&map=umap&colour=super-class", ".legend .entry", act=lasso),
    "inspect": Shot(f"inspect?{RUN}", ".query-title", "dark"),
    "figures": Shot("figures?figure=surrogates", ".js-plotly-plot"),
    "check": Shot(f"check?{RUN}", ".matrix td"),
    "watch": Shot("watch?watched=demo-recall_at_k", ".js-plotly-plot", "dark"),
    "palette": Shot(f"browse?{RUN}&query=1831", ".query-title", "dark", palette),
}


def settled(page: Page) -> None:
    """Nothing is being drawn any more."""
    page.wait_for_timeout(500)
    expect(
        page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    ).to_be_visible()
    expect(
        page.get_by_text(re.compile(r"… \d+ s$|is being drawn in the background"))
    ).to_have_count(0)
    page.wait_for_timeout(1_500)


def take(browser: Browser, address: str, shot: Shot) -> Image.Image:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=shot.scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    expect(page.locator(shot.drawn).first).to_be_visible()
    settled(page)
    if shot.act is not None:
        shot.act(page)
        settled(page)
    png = page.screenshot()
    context.close()
    return Image.open(io.BytesIO(png)).convert("RGB")


def pictures(runs: Path, names: list[str], out: Path) -> None:
    with beside(str(runs), PORT, token=False), chromium() as browser:
        for name in names or SHOTS:
            take(browser, HERE + SHOTS[name].address, SHOTS[name]).save(
                out / f"{name}.webp", quality=80, method=6
            )
            print(f"{out / name}.webp", flush=True)


AT_REST = """() => {
  const app = document.querySelector("[data-testid='stApp']");
  const rest = app && app.dataset.testScriptState === "notRunning" && document.querySelector("h2");
  const waits = /… \\d+ s$/m.test(app?.innerText ?? "") || document.querySelector("[data-testid='stSkeleton']");
  window.restful = rest && !waits ? (window.restful ?? performance.now()) : undefined;
  return window.restful !== undefined && performance.now() - window.restful > 400 && window.restful;
}"""
"""Milliseconds from the beginning of the loading until the page came to rest, in which it has stayed for 400."""


def times(runs: Path, views: int) -> None:
    """Each view is a new tab, as a bookmark opens it, on one server; the first view is told beside the median."""
    pages = [
        "browse",
        *(
            m.name
            for m in pkgutil.iter_modules(app.views.__path__)
            if m.ispkg and m.name != "browse"
        ),
    ]
    taken: dict[str, list[float]] = {name: [] for name in pages}
    with beside(str(runs), PORT, token=False), chromium() as browser:
        time.sleep(5)  # what the server does after its start is not a page's
        for name in pages * views:
            with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
                page = context.new_page()
                page.goto(HERE + name, wait_until="commit")
                at = page.wait_for_function(AT_REST, polling=50, timeout=PATIENCE).json_value()
                taken[name].append(at / 1000)
    for name, seconds in taken.items():
        print(f"{name:10s} {statistics.median(seconds):5.1f} s   first {seconds[0]:5.1f} s")


SECONDS, ACROSS, WIDTH = 60, 10, 200
VISITS = {20: "Watch them learn", 35: "Home", 40: "Look closer at this search", 52: "Home"}
"""Second to the link that a visitor of the demo follows then."""


def minute(out: Path) -> None:
    """A sheet of pictures, black ones until the address is printed; the seconds count from the command."""
    began, shots = time.monotonic(), []
    with tempfile.TemporaryDirectory() as runs, chromium() as browser:
        words = children.python("-m", "lab", "demo", "--runs", runs, "--port", "8689")
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env=children.environment()
        ) as demo:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            assert demo.stdout
            address = re.search(r"http://\S+", demo.stdout.readline())
            assert address
            shots += [Image.new("RGB", (1280, 800))] * int(time.monotonic() - began)
            page.goto(address[0], wait_until="commit")
            while len(shots) < SECONDS:
                if label := VISITS.get(len(shots)):
                    page.get_by_role("link", name=label).first.click()
                time.sleep(max(0.0, began + len(shots) - time.monotonic()))
                shots.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
            demo.terminate()
    height = WIDTH * 800 // 1280
    sheet = Image.new("RGB", (ACROSS * WIDTH, SECONDS // ACROSS * height), "white")
    for at, shot in enumerate(shots):
        small = shot.resize((WIDTH - 2, height - 2), Image.Resampling.LANCZOS)
        pen = ImageDraw.Draw(small)
        pen.rectangle((WIDTH - 28, height - 16, WIDTH, height), fill="black")
        pen.text((WIDTH - 25, height - 15), f"{at + 1} s", fill="white")
        sheet.paste(small, (at % ACROSS * WIDTH, at // ACROSS * height))
    sheet.save(out / "first_minute.webp", quality=60, method=6)


BEGIN = "loss => playground.page.begin({ set: 'crowd', mode: 'points', d: 3, loss, knobs: {}, batches: 1, seed: 1 })"
TAKE = """count => {
    playground.page.frames = [];
    for (let i = 0; i < count; i++) playground.page.advance(i % 4 === 0);
    return playground.page.frames;
}"""


@contextlib.contextmanager
def playground() -> Iterator[Page]:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        (Path(folder) / "playground.html").write_text(lab.playground.page(), encoding="utf-8")
        page = browser.new_page(viewport={"width": 900, "height": 640})
        page.goto((Path(folder) / "playground.html").as_uri())
        yield page


def frames() -> None:
    """Median and ninth of ten of the script time, as this machine is and with a processor four times as slow."""
    with playground() as page:
        session = page.context.new_cdp_session(page)
        for slower in (1, 4):
            session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
            for loss in (
                "recall_at_k",
                "smooth_ap",
                "sup_ap",
                "roadmap",
                "contextual",
                "triplet_margin",
            ):
                page.evaluate(BEGIN, loss)
                page.evaluate(TAKE, 30)
                taken = sorted(page.evaluate(TAKE, 300))
                median, late = statistics.median(taken), taken[int(0.9 * len(taken))]
                print(
                    f"{loss:<16} processor / {slower}: median {median:5.1f} ms, ninth of ten {late:5.1f} ms"
                )


def film(out: Path) -> None:
    """The first scenario as it plays, a frame each second step."""
    taken = []
    with playground() as page:
        for step in range(44):
            shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            taken.append(shown.resize((720, 512), Image.Resampling.LANCZOS))
            page.evaluate(TAKE, 2 if step else 0)
            page.evaluate("playground.page.refresh()")
    pauses = [1500, *[90] * (len(taken) - 2), 2500]
    file = out / "playground.webp"
    taken[0].save(
        file, save_all=True, append_images=taken[1:], duration=pauses, loop=0, quality=55, method=6
    )


def claims(out: Path) -> None:
    """The four figures of docs/claims.md."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        for paper in sorted({study.paper for study in studies().values()}):
            figure = lab.figures.create("published_effects", paper=TITLES[paper].short).figure()
            page.set_content(figure.to_html(config={"displayModeBar": False}))
            page.locator(".js-plotly-plot .main-svg").first.wait_for()
            image = Image.open(io.BytesIO(page.locator(".js-plotly-plot").screenshot())).convert(
                "RGB"
            )
            image.save(out / f"claims_{paper}.webp", quality=80, method=6)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=("pictures", "times", "minute", "playground", "frames", "claims")
    )
    parser.add_argument(
        "runs", nargs="?", type=Path, default=Path("runs"), help="the folder of the demo's runs"
    )
    parser.add_argument(
        "names", nargs="*", choices=[[], *SHOTS], help="which pictures (default all)"
    )
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument(
        "--views", type=int, default=3, help="of each page, whose median is told (default 3)"
    )
    given = parser.parse_args()
    {
        "pictures": lambda: pictures(given.runs, given.names, given.out),
        "times": lambda: times(given.runs, given.views),
        "minute": lambda: minute(given.out),
        "playground": lambda: film(given.out),
        "frames": frames,
        "claims": lambda: claims(given.out),
    }[given.what]()


if __name__ == "__main__":
    main()
