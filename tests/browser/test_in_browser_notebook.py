"""JupyterLab as a reader meets it: open a tutorial's live figures, move their sliders, and see the figures change."""

from __future__ import annotations

import re

import nbformat
import pytest
from playwright.sync_api import Page, expect

import lab.figures
from lab.install import shipped

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

SLOW = 4
"""How many times slower the processor of the page is made: a laptop on battery in a full lecture hall."""
COUNT, TURNS = 2, 3
"""Figures, and how often the slider's handle goes to and fro."""

LATE = "[anywidget] Failed to initialize model."
"""What anywidget says of a widget that took over two seconds to start. It then drops all updates of that widget; a
figure draws all the same, for its letters come another way."""


def open_and_run(jupyter, tab, name: str, *sources: str) -> Page:
    """The imports of lesson 3 and cells of these sources, run in JupyterLab."""
    whole = nbformat.read(shipped.folder("notebooks") / "3_the_step_that_cannot_be_felt.ipynb", as_version=4)
    imports = next(cell for cell in whole.cells if cell.cell_type == "code")
    whole.cells = [imports, *map(nbformat.v4.new_code_cell, sources)]
    page = tab(jupyter(name, whole), harmless=LATE)
    expect(page.locator(".jp-Notebook")).to_be_visible()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    return page


def all_drawn(page: Page) -> None:
    """Every figure has curves; each is scrolled to, as JupyterLab draws what is on the screen."""
    figures = page.locator(".js-plotly-plot")
    for index in range(COUNT):
        page.locator(".jp-Cell").nth(index + 1).scroll_into_view_if_needed()
        expect(figures.nth(index).locator("path.js-line").first).to_be_attached()


def curves(figure) -> list[str]:
    """The drawn lines of a plotly figure."""
    return figure.locator("path.js-line").evaluate_all("lines => lines.map(line => line.getAttribute('d'))")


def drawn(figure) -> list[float]:
    """The heights of the second curve, as plotly has drawn them."""
    return figure.evaluate("node => node.calcdata[1].map((point) => point.y)")


def drag_about(page: Page, handle, times: int) -> None:
    """Move a slider's handle to and fro faster than any figure can follow, and let it go at the right end."""
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for turn in range(times):
        page.mouse.move(x + (60 if turn % 2 else -60), y, steps=6)
    page.mouse.move(x + 2000, y, steps=3)
    page.mouse.up()


def test_the_last_value_of_a_dragged_slider_wins(jupyter, tab, wait_for):
    page = open_and_run(jupyter, tab, "drag", 'show("unit_circle")', 'show("reranking_blend")')
    all_drawn(page)
    expect(page.get_by_text("official Jupyter news")).to_have_count(0)
    page.locator(".jp-Cell").nth(1).scroll_into_view_if_needed()
    figure = page.locator(".js-plotly-plot").first
    before = curves(figure)
    drag_about(page, page.locator(".widget-slider .noUi-handle").first, TURNS)
    wanted = lab.figures.create("unit_circle", place=1.0).figure()
    words = page.locator("[role=status]").filter(has_text="centroid").first
    expect(words).to_have_text(wanted.layout.meta["alt"])
    expect(figure.locator(".gtitle-subtitle")).to_have_text(plain(wanted.layout.title.subtitle.text))
    heights = [float(y) for y in wanted.data[1].y]
    wait_for(lambda: drawn(figure) == pytest.approx(heights, abs=0), "the picture of the last value")
    assert curves(figure) != before and all(curves(figure))
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")  # what choosing the dark theme does
    expect(figure.locator("svg.main-svg").first).to_have_css("background-color", "rgb(21, 23, 26)")


def plain(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


HEARD = """import ipywidgets
live, heard = show("two_sigmoids"), ipywidgets.Label()
tell = lambda _: setattr(heard, "value", f"heard {live.figure.knobs.tau1}")
live.widget().children[1].observe(tell, "knobs")
display(live, heard)"""


def test_a_closed_form_moves_in_the_page_and_the_kernel_hears(jupyter, tab):
    page = open_and_run(jupyter, tab, "form", HEARD)
    figure = page.locator(".js-plotly-plot")
    expect(figure.locator("path.js-line").first).to_be_attached()
    page.get_by_label("τ₁").press("End")
    known = lab.figures.create("two_sigmoids", tau1=10.0)
    expect(page.locator(".lab-live .words")).to_have_text(known.figure().layout.meta["alt"])
    assert drawn(figure) == pytest.approx([float(y) for y in known.figure().data[1].y], abs=1e-12)
    expect(page.get_by_text("heard 10.0")).to_be_visible()
    page.get_by_role("button", name="Copy as code").click()
    expect(page.locator(".lab-code")).to_have_text(known.code())
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_text("heard 1.0")).to_be_visible()
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    expect(figure.locator("svg.main-svg").first).to_have_css("background-color", "rgb(21, 23, 26)")
