"""The map in a real browser: draw around points, find their images, go back to the map, and on to the inspector."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def draw_around(page, canvas, summary) -> None:
    """Draw around most of the map; again when the page moved under the hand."""
    for _ in range(5):
        try:
            canvas.scroll_into_view_if_needed()  # waits until it stands still
        except PlaywrightError:  # it was drawn again meanwhile
            continue
        box = canvas.bounding_box()
        left, top = box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"]
        right, low = box["x"] + 0.8 * box["width"], box["y"] + 0.6 * box["height"]
        page.mouse.move(left, top)
        page.mouse.down()
        for x, y in ((right, top), (right, low), (left, low)):
            page.mouse.move(x, y, steps=8)
        page.mouse.up()
        try:
            expect(summary).to_be_visible(timeout=30_000)
            return
        except AssertionError:
            continue
    raise AssertionError("nothing was selected by five lassos")


def test_lasso_to_grid_and_back(dashboard, tab, wait_for):
    page = tab(f"{dashboard.url}/map?run=recall&split=test")
    canvas = page.locator(".stage > canvas")
    expect(canvas).to_be_visible()
    expect(page.locator(".entry").first).to_be_visible()
    expect(page.get_by_role("meter").first).to_be_visible()

    summary = page.locator(".summary")
    draw_around(page, canvas, summary)

    # The legend counts what is inside, and the grid lists it.
    chosen = int(re.match(r"([\d,]+) of", summary.inner_text()).group(1).replace(",", ""))
    counts = page.locator(".entry .count")

    def counted() -> int:
        return sum(int(text.split("/")[0].replace(",", "")) for text in counts.all_inner_texts())

    assert chosen > 0
    wait_for(lambda: counted() == chosen, f"a legend that counts {chosen}")
    cards = page.locator(".section.normal .card")
    expect(cards.nth(min(chosen, 48) - 1)).to_be_visible()
    expect(page.locator(".note").first).to_contain_text(f"{chosen:,} image")

    # A card becomes the picked point; the lasso stays.
    title = cards.first.locator(".title").inner_text()
    cards.first.click()
    expect(page.locator(".query-title")).to_have_text(title)
    expect(page).to_have_url(re.compile(r"item=\d+"))
    expect(page.locator(".section.normal").first.locator(".card.right, .card.wrong")).to_have_count(
        5
    )
    expect(page.locator(".key")).to_contain_text("true neighbour")
    assert summary.inner_text().startswith(f"{chosen:,} of")

    # By keyboard: Escape lets the selection go, Enter picks what is in the middle.
    canvas.focus()
    page.keyboard.press("Escape")
    expect(summary).to_have_count(0)
    before = page.url
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(before)

    # A deep link shows the same point, and leads on to what a loss does to it.
    again = tab(page.url)
    expect(again.locator(".query-title")).to_have_text(page.locator(".query-title").inner_text())
    # not the navigation's
    again.get_by_test_id("stMainBlockContainer").get_by_role("link", name="Inspect").click()
    expect(again.locator(".bar").first).to_be_visible()
    expect(again).to_have_url(re.compile(r"/inspect\?.*batch=query"))


def pixels(page, wanted: str) -> int:
    """What the browser put on the screen, counted when it rests: when two looks in a row find the same."""
    before = None
    for _ in range(100):
        page.wait_for_timeout(300)
        count = page.locator(".scatter").evaluate(wanted)
        if count == before:
            return count
        before = count
    raise AssertionError("the map never rests")


PASSING = "async (root) => (await root.map).passingCount"
DRAWN = """async (root) => {
  const map = await root.map;
  map.paint(0);
  const {gl} = map.painter, all = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
  gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, all);
  return all.filter((one, at) => at % 4 === 3 && one > 0).length;
}"""


def test_histograms_filter_and_two_spaces_are_walked_between(dashboard, tab):
    page = tab(f"{dashboard.url}/map?run=recall&split=validation&beside=step:5&view=one")
    expect(page.locator(".entry").first).to_be_visible()
    whole = pixels(page, DRAWN)
    assert whole > 100, "points are on the screen"
    count = pixels(page, PASSING)
    page.locator("fieldset").last.locator(".bar").first.focus()
    page.keyboard.press("Enter")  # a bar is a button
    expect(page.locator(".filters p.summary")).to_contain_text(f"of {count:,} points pass")
    assert pixels(page, PASSING) < count and pixels(page, DRAWN) < whole
    page.get_by_role("button", name="Select what passes").click()
    expect(page.locator(".legend .summary")).to_contain_text("points selected")
    expect(page.locator(".section .card").first).to_be_visible()
    page.locator(".scatter").get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("slider", name="From recall, step 5 to recall")).to_have_value("1")
