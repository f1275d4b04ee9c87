"""A page of the site, opened from the disk: its figures draw and move, and what cannot be read says so."""

import re

import pytest
from playwright.sync_api import expect

from scripts.website import __main__ as website
from scripts.website import figures, lessons

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_figures_draw_move_and_say_what_is_wrong(tmp_path, tab, monkeypatch):
    monkeypatch.setattr(figures, "STOPS", (2, 2))
    made = figures.Figures(tmp_path / "cache")
    places = [made.live("rank_plus"), made.live("two_sigmoids")]
    made.packed[next(key for key in made.packed if key.startswith("two_sigmoids"))] = (
        b"bm90IHBhY2tlZA=="
    )
    places.append(figures.Figures(tmp_path / "no cache", compute=False).live("loss_cost"))
    website._scripts(tmp_path / "live", made)
    scripts = "".join(f'<script src="live/{name}.js"></script>' for name in ("live", "site"))
    key = next(iter(made.packed))
    places.append(f"""<a href='#{key}' data-set='{{"rank_plus": 2}}'>two</a>""")
    places.append(
        lessons._asked(
            "Predict", ["I predict"], {"right": [7], "within": [1], "once": True, "unit": ""}
        )
    )
    hero = website._home().partition('<div class="hero"')[2].partition("<script")[0]
    places.append(f'<div class="hero"{hero}{scripts}<script src="live/hero.js"></script>')
    file = tmp_path / "page.html"
    file.write_text(
        f'<body data-md-color-scheme="default">{"".join(places)}</body>', encoding="utf-8"
    )
    page = tab(f"file://{file}", offline=True)
    page.get_by_role("button", name="Lock").click()  # without a number nothing is answered
    page.get_by_label("I predict").fill("5")
    page.get_by_role("button", name="Lock").click()
    expect(page.locator(".asked output")).to_have_text("✗ You said 5; it is 7.")
    page.get_by_label("tiger 2: how alike").press("End")
    expect(page.locator(".says")).to_contain_text("A tiger is first.")
    moving, unreadable, missing = page.locator(".live-figure").all()
    slider = moving.get_by_label("rank⁺")
    expect(moving.locator(".main-svg").first).to_be_visible()
    before, ground = (
        moving.locator(".code").text_content(),
        moving.locator(".main-svg").first.get_attribute("style"),
    )
    slider.press("End")
    expect(moving.locator(".code")).not_to_have_text(before)
    page.get_by_text("two", exact=True).click()
    expect(slider).to_have_attribute("aria-valuetext", "2")
    expect(page).to_have_url(re.compile("figure=rank_plus"))
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    expect(moving.locator(".main-svg").first).not_to_have_attribute("style", ground)
    unreadable.scroll_into_view_if_needed()
    expect(unreadable.locator(".words")).to_have_text("The figure's file could not be read.")
    expect(missing.locator(".words")).to_contain_text("lab papers figure loss_cost")
