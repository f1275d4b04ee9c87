"""JupyterLab as a reader meets it: open a tutorial's live figures, move their sliders, and see the figures change."""

from __future__ import annotations

import re

import nbformat
import pytest
from playwright.sync_api import Page, expect

import lab.figures
from lab.core.installed import shipped

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

SLOW = 4
"""How many times slower the processor of the page is made: a laptop on battery in a full lecture hall."""
TURNS = 3
"""How often the slider's handle goes to and fro."""

LATE = "[anywidget] Failed to initialize model."
"""What anywidget says of a widget that took over two seconds to start. It then drops all updates of that widget; a
figure draws all the same, for its letters come another way."""


def curves(figure) -> list[str]:
    """The drawn lines of a plotly figure."""
    return figure.locator("path.js-line").evaluate_all(
        "lines => lines.map(line => line.getAttribute('d'))"
    )


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


def plain(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


HEARD = """import ipywidgets
live, heard = show("two_sigmoids"), ipywidgets.Label()
tell = lambda _: setattr(heard, "value", f"heard {live.figure.knobs.tau1}")
live.widget().children[1].observe(tell, "knobs")
display(live, heard)"""


@pytest.fixture
def page(jupyter, tab) -> Page:
    """The imports of lesson 3, a figure that the kernel draws and one that the page computes, run in JupyterLab."""
    whole = nbformat.read(
        shipped.folder("notebooks") / "3_the_step_that_cannot_be_felt.ipynb", as_version=4
    )
    imports = next(cell for cell in whole.cells if cell.cell_type == "code")
    whole.cells = [imports, *map(nbformat.v4.new_code_cell, ('show("unit_circle")', HEARD))]
    page = tab(jupyter("lesson", whole), harmless=LATE)
    expect(page.locator(".jp-Notebook")).to_be_visible()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    for index in range(2):  # JupyterLab draws what is on the screen
        page.locator(".jp-Cell").nth(index + 1).scroll_into_view_if_needed()
        expect(
            page.locator(".js-plotly-plot").nth(index).locator("path.js-line").first
        ).to_be_attached()
    return page


def test_figures_move_in_jupyterlab(page, wait_for):
    """The last value of a dragged slider wins, also on a slow machine; the kernel hears what a page computes."""
    expect(page.get_by_text("official Jupyter news")).to_have_count(0)
    page.locator(".jp-Cell").nth(1).scroll_into_view_if_needed()
    figure, computed = page.locator(".js-plotly-plot").all()
    before = curves(figure)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
    drag_about(page, page.locator(".widget-slider .noUi-handle").first, TURNS)
    wanted = lab.figures.create("unit_circle", place=1.0).figure()
    words = page.locator("[role=status]").filter(has_text="centroid").first
    expect(words).to_have_text(wanted.layout.meta["alt"])
    expect(figure.locator(".gtitle-subtitle")).to_have_text(
        plain(wanted.layout.title.subtitle.text)
    )
    heights = [float(y) for y in wanted.data[1].y]
    wait_for(
        lambda: drawn(figure) == pytest.approx(heights, abs=0), "the picture of the last value"
    )
    assert curves(figure) != before and all(curves(figure))

    cell = page.locator(".jp-Cell").nth(2)
    cell.get_by_label("τ₁").press("End")
    known = lab.figures.create("two_sigmoids", tau1=10.0)
    expect(cell.locator(".lab-live .words")).to_have_text(known.figure().layout.meta["alt"])
    assert drawn(computed) == pytest.approx([float(y) for y in known.figure().data[1].y], abs=1e-12)
    expect(cell.get_by_text("heard 10.0")).to_be_visible()
    cell.get_by_role("button", name="Copy as code").click()
    expect(cell.locator(".lab-code")).to_have_text(known.code())
    cell.get_by_role("button", name="Reset", exact=True).click()
    expect(cell.get_by_text("heard 1.0")).to_be_visible()
    # what choosing the dark theme does
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    for one in (figure, computed):
        expect(one.locator("svg.main-svg").first).to_have_css("background-color", "rgb(21, 23, 26)")
