"""Browse in a real browser: click a neighbour, use the keyboard, and meet names that want to be HTML."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from test_in_browser_accessibility import settled

pytestmark = pytest.mark.browser


def test_click_a_neighbour_and_it_becomes_the_query(dashboard, tab):
    page = tab(f"{dashboard.url}/browse")
    title = page.locator(".query-title")
    expect(title).to_be_visible()
    cards = page.locator(".section.normal .card")
    expect(cards.nth(5)).to_be_visible()

    wanted = page.locator(".section.normal .card.wrong").first
    name, label = (
        wanted.locator(".title").inner_text(),
        wanted.locator(".spoken:not(.chosen)").text_content(),
    )
    assert re.match(r"rank \d+, wrong, ", label)
    expect(page).to_have_url(re.compile(r"run=recall&query=\d+"))
    before = page.url
    wanted.click()
    expect(title).to_have_text(name)
    expect(page).not_to_have_url(before)  # the address follows what is drawn
    expect(page).to_have_url(re.compile(r"run=recall&query=\d+"))

    # A deep link opens the same query in another tab.
    again = tab(page.url)
    expect(again.locator(".query-title")).to_have_text(name)

    # Right and wrong differ by border style and mark, not by colour alone.
    for verdict, style, mark in (("right", "solid", "✓"), ("wrong", "dashed", "✗")):
        card = again.locator(f".section.normal .card.{verdict}").first
        assert card.locator(".frame").evaluate("e => getComputedStyle(e).borderTopStyle") == style
        assert card.locator(".mark").inner_text() == mark
    names = again.locator(".card .spoken:not(.chosen)").all_text_contents()
    assert all(names), "a card's name says what its picture shows"
    assert again.locator(".query-image").get_attribute("alt")


def test_the_keyboard_walks_the_grid_and_picks(dashboard, tab):
    page = tab(f"{dashboard.url}/browse")
    cards = page.locator(".section.normal .card")
    expect(cards.nth(5)).to_be_visible()
    expect(
        page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    ).to_be_visible()
    cards.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(cards.nth(2)).to_be_focused()
    page.keyboard.press("ArrowDown")
    name = "document.activeElement.shadowRoot.activeElement.querySelector('.spoken:not(.chosen)').textContent"
    chosen = page.evaluate(name)
    title = re.match(r"rank \d+, (?:right|wrong), (.*), cosine [\d.]+$", chosen).group(1)
    page.keyboard.press("Enter")
    expect(page.locator(".query-title")).to_have_text(title)
    # The place is kept: the first card of the new list has the focus.
    expect(cards.nth(0)).to_be_focused()


FOCUSED = (
    "() => (document.activeElement.shadowRoot?.activeElement ?? document.activeElement).textContent"
)


def test_the_results_are_a_few_stops_of_tab_away(dashboard, tab):
    page = tab(f"{dashboard.url}/browse")
    cards = page.locator(".section.normal .card")
    expect(cards.nth(5)).to_be_visible()
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Skip to results"
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED).startswith("rank 1, ")
    for _ in range(2):  # the whole list is one stop
        page.keyboard.press("Tab")
        assert not re.match(r"rank [2-9],", page.evaluate(FOCUSED))


PAINTED = """() => {
  const canvas = document.querySelector('.regions canvas') ?? [...document.querySelectorAll('*')].map(
    (one) => one.shadowRoot?.querySelector('.regions canvas')).find(Boolean);
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return pixels.reduce((sum, value, at) => sum + (at % 4 === 3 ? value : 0), 0);
}"""


def test_why_two_are_alike_and_a_part_of_the_picture(dashboard, tab):
    page = tab(f"{dashboard.url}/browse?click=why")
    card = page.locator(".section.normal .card").nth(2)
    expect(card).to_be_visible()
    query = page.locator(".query-title").inner_text()
    card.click()
    picture = page.locator(".regions img").first
    expect(picture).to_have_attribute("alt", re.compile("Query: .*most from"))
    expect(page).to_have_url(re.compile(r"pair=\d+"))
    expect(page.locator(".query-title")).to_have_text(query)
    page.wait_for_function(f"() => ({PAINTED})() > 0")
    slider = page.get_by_label("Strength of the colours")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"() => ({PAINTED})() === 0")  # the slider takes the colours away

    page.get_by_role("button", name="Part of it").click()
    stage = page.get_by_role("slider", name="Part of the picture to search with")
    expect(stage).to_be_visible()
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=6)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"part=0\.\d+"))
    expect(
        page.get_by_text("The search uses only the part of the picture that you drew.")
    ).to_be_visible()


def test_a_page_stands_still_while_it_opens(dashboard, tab):
    """The text is not pushed aside by the sidebar, nor by a style that comes late: layout shifts add up to little."""
    page = tab(f"{dashboard.url}/figures")
    page.add_init_script(
        "window.moved = 0; const add = (one) => { window.moved += one.value; };"
        "const seen = new PerformanceObserver((list) => list.getEntries().forEach(add));"
        "seen.observe({ type: 'layout-shift', buffered: true });"
    )
    page.reload()
    expect(page.get_by_role("slider").first).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(
        page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    ).to_be_visible()
    assert page.evaluate("PerformanceObserver.supportedEntryTypes.includes('layout-shift')"), (
        "nothing would be seen"
    )
    assert page.evaluate("moved") < 0.1, "it was .38"
    assert page.get_by_test_id("stSidebar").bounding_box()["width"] == pytest.approx(281, abs=2), (
        "as page_style.css says"
    )


def test_names_that_look_like_html_are_shown_as_text(serve, tab, train_tiny, tmp_path):
    import numpy as np
    from PIL import Image

    wild = ['<img src=x onerror="window.hurt=1">', "<b>bold & $x^2$ **md** :red[x]"]
    random = np.random.default_rng(0)
    for at, name in enumerate(
        ["train/plain", "train/plain too", *(f"test/{name}" for name in wild)]
    ):
        for copy in range(6):
            file = tmp_path / "images" / name / f"{copy}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(
                random.integers(60 * at, 60 * at + 60, (16, 16, 3), dtype=np.uint8)
            ).save(file)
    data = {"name": "class_folders", "root": str(tmp_path / "images")}
    train_tiny(tmp_path / "runs", "wild", data=data, sampler={"batch_size": 8})
    page = tab(f"{serve(tmp_path / 'runs').url}/browse")
    expect(page.locator(".query-title")).to_be_visible()
    shown = set(page.locator(".card .title").all_inner_texts())
    assert shown == set(wild)
    assert page.evaluate("window.hurt") is None
    assert page.locator("b", has_text="bold").count() == 0
