"""JupyterLab as a reader meets it: open a tutorial's first live figure, move its slider, and see the figure change."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from playwright.sync_api import expect

from lab.cli.learn import ORIGINALS

pytestmark = pytest.mark.timeout(300)


def of_its_own(folder):
    """Settings and workspaces that are nobody else's."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_WORKSPACES_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTER_RUNTIME_DIR")
    return {name: str(folder / name.lower()) for name in names}


@pytest.fixture
def jupyter(tmp_path):
    """JupyterLab, started by `lab learn`, on a copy that holds the beginning of notebook 02."""
    whole = nbformat.read(ORIGINALS / "02_the_step_and_its_surrogates.ipynb", as_version=4)
    first = next(i for i, cell in enumerate(whole.cells) if cell.source.startswith("show("))
    whole.cells = [whole.cells[1], whole.cells[first]]  # the imports and the figure
    copy = tmp_path / "mine"
    copy.mkdir()
    nbformat.write(whole, copy / "short.ipynb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(tmp_path / "jupyter.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab", "learn", "--folder", str(copy), "--port", str(port), "--no-browser"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "JUPYTER_TOKEN": "reader", **of_its_own(tmp_path)},
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/api?token=reader", timeout=2).close()
            break
        except OSError:
            time.sleep(0.3)
    else:
        raise AssertionError(f"JupyterLab did not start:\n{(tmp_path / 'jupyter.log').read_text()}")
    yield f"{url}/lab/tree/short.ipynb?token=reader"
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(20)


def test_a_slider_moves_the_figure(jupyter, tab):
    page = tab(jupyter)
    notebook = page.locator(".jp-Notebook")
    expect(notebook).to_be_visible()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    figure = notebook.locator(".js-plotly-plot").first
    expect(figure).to_be_visible()
    handle = notebook.locator(".widget-slider .noUi-handle, .widget-slider [role=slider]").first
    expect(handle).to_be_visible()
    before = curves(figure)
    words = notebook.locator("[role=status]").filter(has_text="sigmoid of temperature")
    expect(words).to_be_visible()
    said = words.inner_text()
    deadline = time.monotonic() + 60
    while curves(figure) == before:
        assert time.monotonic() < deadline, f"slider at {handle.get_attribute('aria-valuenow')}, curves as before"
        handle.press("ArrowRight")  # focuses it first: when its cells are done, JupyterLab takes the focus to itself
        page.wait_for_timeout(200)
    expect(words).not_to_have_text(said)  # the text alternative follows


def curves(figure) -> list[str]:
    """The drawn lines of a plotly figure."""
    return figure.locator("path.js-line").evaluate_all("lines => lines.map(line => line.getAttribute('d'))")
