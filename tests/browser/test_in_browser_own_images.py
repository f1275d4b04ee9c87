"""Two stories in a real browser: from a folder of one's own to the first browse; and a label error that is found on the
page Check, marked, and left out of the next training."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import lab.runs

pytestmark = pytest.mark.browser

COLOURS = np.array([[220, 40, 40], [40, 190, 60], [50, 70, 220], [230, 210, 40], [200, 60, 200], [60, 200, 210]])
WRONG = "class3/9.png"


def paint(folder, classes: int, copies: int) -> None:
    """Pictures that show the colour of their class."""
    random = np.random.default_rng(0)
    for at in range(classes):
        for copy in range(copies):
            file = folder / f"class{at}" / f"{copy}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((COLOURS[at] + random.integers(-25, 25, (32, 32, 3))).clip(0, 255).astype(np.uint8)).save(
                file
            )


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory, train_tiny, new_server):
    """A dashboard that may read one folder with two folders of pictures. `few` waits for its training; `six` was
    trained on as the run `first`, and one of its files lies in the wrong class."""
    folder = tmp_path_factory.mktemp("own")
    home, runs = folder / "home", folder / "runs"
    paint(home / "few", classes=3, copies=2)
    paint(home / "six", classes=6, copies=4)
    (home / "six" / "class1" / "3.png").rename(home / "six" / WRONG)
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("LAB_DATA", str(home))
        train_tiny(
            runs, "first",
            data={"name": "class_folders", "root": str(home / "six"), "test": 0.0, "validation": 0.0},
            sampler={"batch_size": 12, "per_class": 2}, training={"steps": 12}, evaluation={"splits": ["train"]},
        )  # fmt: skip
        server = new_server(runs, folder)
    yield server
    server.stop()


def settled(page: Page) -> None:
    page.wait_for_timeout(150)
    expect(page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()


def test_from_a_folder_of_ones_own_to_the_first_browse(own_lab, tab, wait_for):
    page = tab(f"{own_lab.url}/train")
    page.get_by_text("My images: train on a folder of your own").click()
    folders = page.get_by_role("combobox", name="Open a folder")
    folders.click()
    page.get_by_role("option", name="few").click()
    settled(page)
    expect(page.get_by_role("textbox", name="Folder of the classes")).to_have_value(re.compile("/home/few$"))
    page.get_by_role("button", name="Look at these images").click()
    expect(page.get_by_role("heading", name="3 classes, 6 images")).to_be_visible()
    expect(page.locator(".card .title").first).to_have_text("class0")
    expect(page.get_by_text("2 images in each class")).to_be_visible()
    page.get_by_role("button", name="Train on these images").click()

    expect(page).to_have_url(re.compile("watch.*watched=few"))
    run = lab.runs.Run(own_lab.runs / "few")
    wait_for(lambda: run.state in ("finished", "failed"), "the training")
    assert run.state == "finished", run.status["sentence"]
    page.get_by_test_id("stMainBlockContainer").get_by_text(re.compile("finished", re.I)).first.wait_for()
    page.get_by_role("link", name="Browse", exact=True).first.click()
    expect(page.locator(".query-title")).to_have_text(re.compile("class[0-2]"))
    expect(page).to_have_url(re.compile("run=few"))
    expect(page.locator(".section.normal .card")).to_have_count(5)
    thumb = page.locator(".section.normal .card .thumb").first
    wait_for(lambda: thumb.evaluate("one => one.naturalWidth") > 0, "the first picture")


def test_a_label_error_is_found_marked_and_left_out(own_lab, tab, wait_for):
    page = tab(f"{own_lab.url}/check?run=first&show=labels&k=3")
    suspect = page.locator(".card", has_text="looks like class1").first
    expect(suspect).to_contain_text("class3")
    suspect.click()
    expect(page.get_by_text(WRONG).first).to_be_visible()
    page.get_by_role("button", name="Wrong label", exact=True).click()
    expect(page.locator(".card", has_text="marked: wrong label")).to_have_count(1)

    page.get_by_text("Marked images", exact=True).click()
    page.get_by_role("button", name="Train again without them").click()
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    expect(page.get_by_text("--data.leave_out")).to_be_visible()
    name = page.get_by_role("textbox", name="Name of the run")
    name.fill("second")
    name.press("Enter")
    settled(page)
    page.get_by_role("button", name="Add to queue").click()
    second = own_lab.runs / "second"
    wait_for(lambda: (second / "config.yaml").is_file(), "queueing the run")
    run = lab.runs.Run(second)
    wait_for(lambda: run.state in ("finished", "failed"), "the training")
    assert run.state == "finished", run.status["sentence"]

    before, images = lab.runs.Run(own_lab.runs / "first").dataset(), run.dataset()
    wrong = next(at for at, key in enumerate(images.keys) if str(key) == WRONG)
    assert set(before.splits["train"].items) - set(images.splits["train"].items) == {wrong}
    assert wrong not in run.embeddings("train").items, "nor is it searched"
    page.goto(f"{own_lab.url}/check?run=second&show=labels&k=3")
    expect(page.get_by_role("heading", name="Labels that may be wrong")).to_be_visible()
    expect(page.locator(".card", has_text="looks like class1")).to_have_count(0)
