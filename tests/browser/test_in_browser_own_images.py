"""A story in a real browser: from a folder of pictures to the first browse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from test_in_browser_accessibility import settled

import lab.runs

pytestmark = pytest.mark.browser

COLOURS = np.array([[220, 40, 40], [40, 190, 60], [50, 70, 220]])


@pytest.fixture
def own_lab(tmp_path, monkeypatch, serve):
    """A dashboard that may read one folder, with three classes of two pictures that show the colour of their class."""
    random = np.random.default_rng(0)
    for at, colour in enumerate(COLOURS):
        for copy in range(2):
            file = tmp_path / "home" / "few" / f"class{at}" / f"{copy}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            pixels = (colour + random.integers(-25, 25, (32, 32, 3))).clip(0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(file)
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "home"))
    return serve(tmp_path / "runs")


def test_from_a_folder_of_ones_own_to_the_first_browse(own_lab, tab, wait_for):
    page = tab(f"{own_lab.url}/train")
    page.get_by_text("A folder of mine").click()
    folders = page.get_by_role("combobox", name="Open a folder")
    folders.click()
    page.get_by_role("option", name="few").click()
    settled(page)
    expect(page.get_by_role("textbox", name="Folder of the classes")).to_have_value(re.compile("/home/few$"))
    expect(page.get_by_role("heading", name="3 classes, 6 images")).to_be_visible()
    expect(page.locator(".card .title").first).to_have_text("class0")
    expect(page.get_by_text("2 images in each class")).to_be_visible()
    page.get_by_text(
        re.compile("Train the whole network, a first look")
    ).click()  # how long it takes may not be measured yet
    page.get_by_text("Sorting by kind").click()
    expect(page.get_by_text("all images of a kind come before the others")).to_be_visible()
    page.get_by_role("button", name="Start").click()

    expect(page).to_have_url(re.compile("watch.*watched=few"))
    run = lab.runs.Run(own_lab.runs / "few")
    assert run.config.loss.name == "roadmap"
    wait_for(lambda: run.state in ("finished", "failed"), "the training")
    assert run.state == "finished", run.status["sentence"]
    page.get_by_test_id("stMainBlockContainer").get_by_text(re.compile("finished", re.I)).first.wait_for()
    page.get_by_role("link", name="Browse", exact=True).first.click()
    expect(page.locator(".query-title")).to_have_text(re.compile("class[0-2]"))
    expect(page).to_have_url(re.compile("run=few"))
    expect(page.locator(".section.normal .card")).to_have_count(5)
    thumb = page.locator(".section.normal .card .thumb").first
    wait_for(lambda: thumb.evaluate("one => one.naturalWidth") > 0, "the first picture")
