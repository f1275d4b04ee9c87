"""A saved page of a figure, opened from the disk: sliders move the picture, with no Python and no network."""

import pytest
from playwright.sync_api import expect

import lab.figures
from lab.figures.live_page import live_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]


def test_a_slider_shows_what_python_draws(tmp_path, tab):
    file = tmp_path / "two_sigmoids.html"
    file.write_text(live_page(lab.figures.create("two_sigmoids"), ["tau1"]), encoding="utf-8")
    page = tab(f"file://{file}", color_scheme="dark", offline=True)
    slider = page.get_by_label("τ₁")
    expect(page.locator(".js-plotly-plot path.js-line").first).to_be_attached()
    slider.press("End")
    last = lab.figures.create("two_sigmoids", tau1=10.0)
    wanted = last.figure()
    expect(page.locator("#words")).to_have_text(wanted.layout.meta["alt"])
    shown = page.evaluate(
        "[...document.getElementById('figure').calcdata[1].map((point) => point.y)]"
    )
    assert shown == pytest.approx([float(y) for y in wanted.data[1].y], abs=0)
    ground = page.locator("svg.main-svg").first.evaluate(
        "node => getComputedStyle(node).backgroundColor"
    )
    assert ground == "rgb(21, 23, 26)"
    expect(page.locator("#code")).to_have_text(last.code())
    asked = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert not [name for name in asked if name.startswith("http")]


def test_a_tick_shows_what_python_draws(tmp_path, tab):
    on, off = (
        lab.figures.create("contextual_steps", complement=complement)
        for complement in (True, False)
    )
    file = tmp_path / "contextual_steps.html"
    file.write_text(live_page(on, ["complement"]), encoding="utf-8")
    page = tab(f"file://{file}", offline=True)
    tick, words = page.get_by_role("checkbox", name="complement"), page.locator("#words")
    expect(tick).to_be_checked()
    expect(words).to_have_text(on.figure().layout.meta["alt"])
    tick.uncheck()
    expect(words).to_have_text(off.figure().layout.meta["alt"])
    expect(page.locator("#code")).to_have_text(off.code())
    tick.check()
    expect(page.locator("#code")).to_have_text(on.code())
