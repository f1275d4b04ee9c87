"""JupyterLab as a reader meets it: open a tutorial's first live figure, move its slider, and see the figure change."""

from __future__ import annotations

import time

import nbformat
import pytest
from playwright.sync_api import expect

from lab.cli.learn import ORIGINALS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_slider_moves_the_figure(jupyter, tab):
    whole = nbformat.read(ORIGINALS / "02_the_step_and_its_surrogates.ipynb", as_version=4)
    first = next(i for i, cell in enumerate(whole.cells) if cell.source.startswith("show("))
    whole.cells = [whole.cells[1], whole.cells[first]]  # the imports and the figure
    page = tab(jupyter("short", whole))
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
