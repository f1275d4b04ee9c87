"""Take the pictures of docs/images anew, in a headless Chromium, from the runs of `make demo SERVE=0`.

    python scripts/screenshots.py runs                     # all of them
    python scripts/screenshots.py runs browse --out /tmp   # one, elsewhere

Each is 1280 x 900 pixels, in the colours of its line below, and kept as WebP. Look at each before it is
committed: a page that has changed may need another address, or another place to click.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PATIENCE = 180_000
"""Milliseconds for a page that lays out a map first."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--no-first-run")
RUN = "run=demo-recall_at_k"


def lasso(page: Page) -> None:
    """Draw around the points at the bottom of the map."""
    stage = page.locator(".stage > canvas")
    box = stage.bounding_box()
    assert box is not None
    round_it = [(0.36, 0.80), (0.42, 0.76), (0.50, 0.73), (0.55, 0.82), (0.52, 0.92), (0.44, 0.97), (0.37, 0.91)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in round_it]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile("lasso="))


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
    "browse": Shot(f"?{RUN}&query=1831", ".query-title"),
    "map": Shot(f"map?{RUN}&map=umap&colour=super-class", ".legend .entry", act=lasso),
    "inspect": Shot(f"inspect?{RUN}", ".query-title", "dark"),
    "figures": Shot("figures?figure=surrogates", ".js-plotly-plot"),
    "check": Shot(f"check?{RUN}", ".matrix td"),
    "watch": Shot("watch?watched=demo-recall_at_k", ".js-plotly-plot", "dark"),
    "palette": Shot(f"?{RUN}&query=1831", ".query-title", "dark", palette),
}


def served(runs: Path, token: str) -> tuple[subprocess.Popen, str]:
    """The dashboard on these runs, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "lab", "app", "--runs", str(runs), "--port", str(port)]
    server = subprocess.Popen(words, env={**os.environ, "LAB_TOKEN": token}, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).close()
            return server, address
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("The dashboard did not start.")


def settled(page: Page) -> None:
    """Nothing is being drawn any more."""
    page.wait_for_timeout(500)
    expect(page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
    expect(page.get_by_text(re.compile(r"… \d+ s$|is being drawn in the background"))).to_have_count(0)
    page.wait_for_timeout(1_500)


def take(browser: Browser, address: str, token: str, shot: Shot) -> bytes:
    """The picture as PNG."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=shot.scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/{shot.address}{'&' if '?' in shot.address else '?'}token={token}")
    expect(page.locator(shot.drawn).first).to_be_visible()
    settled(page)
    if shot.act is not None:
        shot.act(page)
        settled(page)
    png = page.screenshot()
    context.close()
    return png


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="the folder of the demo's runs")
    parser.add_argument("names", nargs="*", choices=[[], *SHOTS], help="which pictures (default all)")
    parser.add_argument("--out", type=Path, default=IMAGES)
    asked, token = parser.parse_args(), secrets.token_hex(16)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    expect.set_options(timeout=PATIENCE)
    server, address = served(asked.runs, token)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
            for name in asked.names or SHOTS:
                path = asked.out / f"{name}.webp"
                picture = Image.open(io.BytesIO(take(browser, address, token, SHOTS[name])))
                picture.convert("RGB").save(path, quality=80, method=6)
                print(f"{path}: {path.stat().st_size / 1000:.0f} KB", flush=True)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
