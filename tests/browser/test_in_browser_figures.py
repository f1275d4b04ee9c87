"""The Figures page in a real browser: what is dragged moves the figure, and the hand always wins over the server."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_dragged_score_moves_the_figure_and_the_address(dashboard, tab, drag):
    page = tab(f"{dashboard.url}/figures?figure=recall_strip")
    grips = page.locator(".lab-drag .grip")
    expect(grips).to_have_count(11)
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    expect(
        page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    ).to_be_visible()
    place = 'g.grip[data-index="3"]'
    grip = page.locator(f".lab-drag {place}")
    assert grip.get_attribute("aria-valuenow") == "0.52"
    page.locator(f".lab-drag {place} circle").click(force=True)  # its picture lies over it
    for _ in range(20):  # faster than the server redraws
        grip.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", "0.72")
    expect(page).to_have_url(re.compile(r"knobs=.*0\.67%2C0\.72%2C"))

    drag(page, grip, -288, 0)
    low = float(grip.get_attribute("aria-valuenow"))
    assert low < 0.6
    expect(page).to_have_url(re.compile(re.escape(f"0.67%2C{low:g}%2C")))
    assert float(grip.get_attribute("aria-valuenow")) == low, (
        "what came back does not move it again"
    )

    page.get_by_test_id("stSidebar").get_by_role("button", name="Reset").click()
    expect(grip).to_have_attribute("aria-valuenow", "0.52")
    expect(page).to_have_url(re.compile(r"figure=recall_strip$"))
