"""The real server and a real browser. Without Chromium these tests fail and say how to get it; they never skip."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.dashboards import Dashboard, free_port

FLAGS = (
    "--no-sandbox",
    "--headless",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--no-first-run",
)
TOKEN = "what-these-tests-chose"
PATIENCE = 900_000
"""Milliseconds that a page of a busy machine is given; they only guard against waiting for ever."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def chromium():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.fail(
            "The browser tests need Chromium on the PATH (Debian: apt-get install chromium).",
            pytrace=False,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


def _with_token(url: str) -> str:
    """As the dashboard prints it; the browser keeps a cookie and the address loses the token."""
    return f"{url}{'&' if '?' in url else '?'}token={TOKEN}"


@pytest.fixture
def serve(tmp_path):
    """Start the dashboard on a folder of runs; it is stopped at the end of the test."""
    started = []

    def start(runs: Path) -> Dashboard:
        started.append(Dashboard(runs, tmp_path, TOKEN).wait())
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory, train_tiny):
    """One dashboard on one finished run, `recall`, for all tests that only look."""
    folder = tmp_path_factory.mktemp("dashboard")
    train_tiny(folder / "runs", "recall")
    server = Dashboard(folder / "runs", folder, TOKEN).wait()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """One JupyterLab for all notebooks, started by `lab learn`: `jupyter(name, notebook)` keeps one in its folder
    and returns its address, in a workspace of its own."""
    import nbformat

    folder, port = tmp_path_factory.mktemp("jupyter"), free_port()
    names = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTER_RUNTIME_DIR",
    )
    own_places = {name: str(folder / name.lower()) for name in names}
    with open(folder / "jupyter.log", "wb") as log:
        words = [
            "lab",
            "learn",
            "--folder",
            str(folder / "mine"),
            "--port",
            str(port),
            "--no-browser",
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "JUPYTER_TOKEN": "reader", **own_places},
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/api?token=reader", timeout=30).close()
            break
        except OSError:
            time.sleep(0.3)
    else:
        raise AssertionError(f"JupyterLab did not start:\n{(folder / 'jupyter.log').read_text()}")

    def keep(name: str, notebook) -> str:
        nbformat.write(notebook, folder / "mine" / f"{name}.ipynb")
        return f"{url}/lab/workspaces/{name}/tree/{name}.ipynb?token=reader"

    yield keep
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(300)


@pytest.fixture
def wait_for():
    """Wait until a condition holds; the seconds only guard against waiting for ever."""

    def wait(condition, what: str, seconds: float = 1_800) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not happen within {seconds:.0f} s"
            time.sleep(0.1)

    return wait


@pytest.fixture
def drag():
    """Drag one of our grips by some pixels, as a person does: take it where it stands, see that it is held, pull, let
    go. A hand that comes too late for a redraw misses, and takes it again."""

    def dragged(page: Page, grip: Locator, x: float, y: float) -> None:
        ring, held = grip.locator(".ring"), page.locator(".lab-drag .grip.held")
        for _ in range(10):
            try:
                ring.scroll_into_view_if_needed()  # waits until it stands still
            except PlaywrightError:  # it was drawn again meanwhile
                continue
            box = ring.bounding_box()
            start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(*start)
            page.mouse.down()
            try:
                expect(held).to_have_count(1, timeout=3_000)
            except AssertionError:
                page.mouse.up()
                continue
            page.mouse.move(start[0] + x, start[1] + y, steps=24)
            page.mouse.up()
            expect(held).to_have_count(0)
            return
        raise AssertionError("the grip was missed ten times")

    return dragged


@pytest.fixture
def tab(chromium):
    """Open a tab; errors in its console fail the test at its end, but for those that it calls `harmless`."""
    contexts, errors = [], []

    def open_tab(url: str, harmless: str | None = None, **options) -> Page:
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on(
            "pageerror", lambda error: None if str(error) == harmless else errors.append(str(error))
        )
        page.goto(url if "token=" in url or not url.startswith("http") else _with_token(url))
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert not errors, errors
