"""Slides of a notebook, opened from the disk: figures live, keys turn the pages, nobody else is asked for anything."""

import nbformat
import pytest
from playwright.sync_api import expect

from lab.cli import _slides

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_a_figure_lives_and_keys_turn_the_pages(tmp_path, tab, monkeypatch):
    monkeypatch.setattr(_slides, "STOPS", (2, 2))
    cell = nbformat.v4.new_code_cell('show("contextual_steps")')
    words = nbformat.v4.new_markdown_cell("# Ranks\n\nA formula, $r^+$.\n\n## Second part\n\nMore.")
    file = tmp_path / "slides.html"
    file.write_text(_slides.page(nbformat.v4.new_notebook(cells=[words, cell])), encoding="utf-8")
    page = tab(f"file://{file}", offline=True)
    expect(page.locator("section")).to_have_count(3)
    expect(page.locator("math")).to_have_count(1)
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    slider, tick = (
        page.get_by_role("slider", name="k", exact=True),
        page.get_by_role("checkbox", name="complement"),
    )
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert page.locator("section").last.evaluate("one => one.offsetHeight <= innerHeight"), (
        "it fits on the page"
    )
    before = page.locator(".words").text_content()
    slider.press("End")
    expect(page.locator(".words")).not_to_have_text(before)
    there = page.evaluate("scrollY")
    slider.press("ArrowLeft")
    assert page.evaluate("scrollY") == there, "arrows move a slider"
    tick.click()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("there => scrollY < there", arg=there)


def test_a_dragged_list_lives_on_a_slide_that_fits(tmp_path, tab):
    file = tmp_path / "slides.html"
    cells = [
        nbformat.v4.new_markdown_cell("# Lists"),
        nbformat.v4.new_code_cell('show("recall_strip", k=1)'),
    ]
    file.write_text(_slides.page(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")
    page = tab(f"file://{file}", offline=True)
    page.locator("section").last.scroll_into_view_if_needed()
    expect(page.locator(".words")).to_contain_text("recall@1 is 0.000, the hit rate 0")
    there = page.evaluate("scrollY")
    page.get_by_role("slider", name="tiger 2, same label").press("End")
    expect(page.locator(".words")).to_contain_text("recall@1 is 0.500, the hit rate 1")
    assert page.evaluate("scrollY") == there, "keys move what is held"
    assert page.locator("section").last.evaluate("one => one.offsetHeight <= innerHeight"), (
        "it fits on the page"
    )
