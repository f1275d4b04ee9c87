"""The first minute of `lab demo`: address, a page that tells a story, trainings on Watch, new runs for the examples."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from lab.runs import Run
from tests.dashboards import free_port

pytestmark = pytest.mark.browser

FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]"
IN_ALL = 12
"""Most elements of Home that the Tab key reaches, but for the menu of pages, which is one list and on every page."""


@pytest.fixture
def demo(tmp_path):
    """`lab demo` with trainings of a few steps: its process, and the folder of its runs."""
    words = [
        "demo",
        "--steps",
        "100",
        "--runs",
        str(tmp_path / "runs"),
        "--port",
        str(free_port()),
        "--no-token",
    ]
    with open(tmp_path / "errors", "wb") as errors:
        command = [sys.executable, "-m", "lab", *words]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path
        )
    yield process, tmp_path / "runs"
    process.terminate()
    process.communicate(timeout=120)


def reached(page: Page) -> int:
    """Elements of the page's main part that the Tab key reaches."""
    inside = page.locator("[data-testid='stMain']").locator(FOCUSABLE)
    return inside.evaluate_all(
        "all => all.filter((one) => one.tabIndex >= 0 && one.checkVisibility()).length"
    )


def fits(page: Page) -> bool:
    """Whether nothing has to be scrolled."""
    return page.locator("[data-testid='stMain']").evaluate(
        "main => main.scrollHeight <= main.clientHeight"
    )


def test_the_first_minute(demo, tab, wait_for):
    process, runs = demo
    first = process.stdout.readline()
    assert first.startswith("Rankscope: http://127.0.0.1:"), (runs.parent / "errors").read_text()
    page = tab(re.search(r"http://\S+", first)[0])
    expect(page.locator(".told .wrong")).to_have_count(6)
    expect(page.locator(".told .right")).to_have_count(6)
    assert 0 < reached(page) <= IN_ALL

    wait_for(
        page.get_by_text(re.compile("demo-recall_at_k: ")).is_visible,
        "the first word of a training",
    )
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        wait_for(lambda: fits(page), f"one screen of {width} x {height}", seconds=60)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("link", name="Watch them learn").click()
    expect(page.get_by_role("heading", name="Watch")).to_be_visible()

    for loss in ("cross_entropy", "recall_at_k"):
        wait_for(lambda loss=loss: not (runs / f"example-{loss}").exists(), f"the end of {loss}")
        assert Run(runs / f"demo-{loss}").state == "finished"
    page.get_by_role("link", name="Home").click()
    expect(page.locator(".told")).to_be_visible()
    scores = [
        Run(runs / f"demo-{loss}").scores()["values"]["r@1"]
        for loss in ("cross_entropy", "recall_at_k")
    ]
    told = re.findall(r"right for (\d+) of 100", page.locator(".told").inner_text())
    assert sorted(map(int, told)) == sorted(round(100 * score) for score in scores)


def test_the_next_visit_goes_where_this_browser_was(dashboard, tab):
    page = tab(f"{dashboard.url}/runs")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.goto("about:blank")
    page.goto(f"{dashboard.url}/")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="Find pictures of the same kind")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Find pictures of the same kind")).to_be_visible()
