"""The keyboard in a real browser: the palette, the shortcuts and their list, and what the address holds."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from test_in_browser_accessibility import AXE, FIND, settled

import lab.runs

pytestmark = pytest.mark.browser


def test_the_palette_is_a_combobox_that_gives_the_focus_back(dashboard, tab):
    page = tab(f"{dashboard.url}/browse")
    expect(page.locator(".query-title")).to_be_visible()
    settled(page)
    page.locator(".section.normal .card").nth(1).focus()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Page, run, class or image")
    expect(field).to_be_focused()
    page.evaluate(AXE)
    expect(page.get_by_role("option").first).to_be_visible()
    found = [one for one in page.evaluate(FIND, {}) if one[1] in ("serious", "critical")]
    assert not found, found

    options = page.get_by_role("listbox", name="Places to go to").get_by_role("option")
    expect(options.filter(has_text="recall")).to_be_visible()
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(field).not_to_be_visible()
    expect(page.locator(".section.normal .card").nth(1)).to_be_focused()

    split = lab.runs.open("recall", dashboard.runs).embeddings("test")
    images = lab.runs.open("recall", dashboard.runs).dataset()
    item = int(split.items[3])
    page.keyboard.press("Control+k")
    page.keyboard.type(str(images.keys[item]))
    expect(options).to_have_count(1)
    expect(options.first).to_contain_text("Image")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"query={item}\b"))
    expect(page.locator(".query-title")).to_have_text(str(images.class_names[images.labels[item]]))

    # and again: each choice leaves the page that the palette was drawn on
    for name in (
        "Map",
        "Inspect",
    ):
        page.keyboard.press("Control+k")
        page.keyboard.type(name)
        expect(options.first).to_contain_text(name)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_shortcuts_and_their_list(dashboard, tab):
    page = tab(f"{dashboard.url}/browse")
    title = page.locator(".query-title")
    expect(title).to_be_visible()
    settled(page)
    shown = page.locator(".section.small .card")
    names = shown.locator(".title").all_inner_texts()
    opened = shown.evaluate_all("all => all.findIndex((one) => one.ariaCurrent)")
    for key, step in (("n", 1), ("n", 2), ("p", 1)):
        page.keyboard.press(key)
        expect(shown.nth((opened + step) % len(names))).to_have_attribute("aria-current", "true")
        settled(page)
    name = names[(opened + 1) % len(names)]
    expect(title).to_have_text(name)

    page.keyboard.press("?")
    help = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help).to_be_visible()
    assert "then W" in help.inner_text()
    page.evaluate(AXE)
    found = [one for one in page.evaluate(FIND, {}) if one[1] in ("serious", "critical")]
    assert not found, found
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    expect(help).not_to_be_visible()
    expect(title).to_have_text(name)

    go(page, "r")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    settled(page)
    field = page.get_by_placeholder("words, or r@1>0.5")
    field.click()
    page.keyboard.type("?gb")
    expect(field).to_have_value("?gb")
    settled(page)
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(help).not_to_be_visible()

    field.blur()
    page.keyboard.press("?")
    help.get_by_role("checkbox").uncheck()
    help.get_by_role("button", name="Close").click()
    go(page, "b")
    page.keyboard.press("?")
    expect(help).not_to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Page, run, class or image")).to_be_focused()


def go(page: Page, letter: str) -> None:
    """G, then a letter, at once: a machine at work takes longer between two keys than a hand has."""
    page.evaluate(
        """letter => ["g", letter].forEach(
        key => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))""",
        letter,
    )


def zoom_of(page: Page) -> str:
    return dict(part.partition("=")[::2] for part in page.url.partition("?")[2].split("&")).get(
        "zoom", ""
    )


def test_the_address_holds_zoom_filter_and_what_is_open(dashboard, tab):
    page = tab(f"{dashboard.url}/map")
    expect(page.locator(".legend .entry").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="+: zoom in").click()
    expect(page).to_have_url(re.compile("zoom="))
    page.get_by_text("Filter by histogram").click()
    page.locator(".scatter .bar").first.click()
    expect(page).to_have_url(re.compile("bars="))
    zoom, url = zoom_of(page), page.url
    page.locator(".legend .entry").first.click()  # a click that the server answers keeps them
    settled(page)
    # the server writes the address, and then the map its part
    expect(page).to_have_url(re.compile("zoom="))
    assert zoom_of(page) == zoom and "bars=" in page.url

    again = tab(url)
    expect(again.locator(".scatter .bar").first).to_have_attribute("aria-pressed", "true")
    settled(again)
    again.wait_for_timeout(600)  # longer than the map waits before it writes
    assert zoom_of(again) == zoom

    again.goto(f"{dashboard.url}/figures")
    again.get_by_text("Code", exact=True).click()
    expect(again).to_have_url(re.compile("code=yes"))
    third = tab(again.url)
    expect(third.get_by_test_id("stCode").get_by_text("lab.figures.create")).to_be_visible()
