"""My images: from a folder of one's own to a run in the queue; and the ways into an empty lab."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from PIL import Image

import lab.runs
from lab.runs import RunConfig
from lab.runs.launching.queue import Queue


@pytest.fixture
def no_worker(monkeypatch):
    """Let nothing start: the queue only holds."""
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """42 classes of two to five images and a file that is none, below the one folder that may be read."""
    random = np.random.default_rng(0)
    for at in range(42):
        for copy in range(2 + at % 4):
            file = tmp_path / "home" / "photos" / f"kind {at}" / f"{copy}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (72, 80, 3), dtype=np.uint8)).save(file)
    (tmp_path / "home" / "photos" / "kind 0" / "notes.txt").write_text("none")
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    return tmp_path / "home" / "photos"


def press(page, label):
    next(b for b in page.test.button if b.label == label).click().run()
    return page


def test_a_folder_of_42_classes_is_found_looked_at_and_queued(photos, open_page, no_worker, tmp_path):
    page = open_page("train", mine="yes")
    assert page.test.text_input(key="my folder").value == str(photos.parent)
    page.test.selectbox(key="my folder into").set_value("photos").run()
    assert page.test.text_input(key="my folder").value == str(photos)
    press(page, "Look at these images")
    assert page.calm, page.words()
    assert page.section("my sample", "sample")["title"] == "42 classes, 145 images"
    assert len(page.section("my sample", "sample")["cards"]) == 12
    labels = [one.label for one in page.test.expander]
    assert "From 2 images (kind 0) to 5 (kind 7) in a class" in labels and "1 item left out" in labels
    assert "17 training classes" in page.words(), "what was chosen is said in a line"
    press(page, "Train on these images")
    assert not page.test.exception
    assert Queue(tmp_path / "runs").names == ("photos",)
    config = lab.runs.open("photos", tmp_path / "runs").config
    assert config.data.knobs.root == str(photos) and config.sampler.knobs.batch_size == 51


def test_what_was_chosen_can_be_changed_first(photos, open_page):
    page = press(open_page("train", mine="yes", folder=str(photos)), "Look at these images")
    press(page, "Change the settings first")
    assert page.calm, page.words()
    config = RunConfig.of(yaml.safe_load(next(c.value for c in page.test.code if c.language == "yaml")))
    assert config.data.knobs.root == str(photos) and config.sampler.knobs.short_classes == "repeat"
    assert page.test.query_params["folder"] == str(photos)


@pytest.mark.parametrize("typed", ["/etc", "nowhere"])
def test_a_folder_that_may_not_be_read_is_a_sentence(photos, open_page, typed):
    page = open_page("train", mine="yes", folder=typed)
    assert not page.test.exception and page.test.error
    assert "may read" in page.words() or "no folder" in page.words()
    assert not any(b.label == "Look at these images" for b in page.test.button)
    assert any(b.label == "Add to queue" for b in page.test.button), "the form below stays"


def test_pictures_without_classes_are_led_to_where_none_are_needed(photos, open_page):
    flat = photos / "kind 3"
    page = open_page("train", mine="yes", folder=str(flat))
    into = page.test.selectbox(key="my folder into")
    assert (into.proto.placeholder, into.disabled) == ("no folder here", False), "its label could not be read"
    press(page, "Look at these images")
    assert not page.test.exception and "holds no images in class folders" in page.words()
    assert "5 pictures lie in this folder without a class" in page.words()
    link = next(one for one in page.test.get("page_link") if one.proto.label == "Embed these pictures")
    assert "bring=yes" in link.proto.query_string and "kind" in link.proto.query_string
    runs = open_page("runs", bring="yes", folder=str(flat))
    assert runs.calm and runs.test.text_input(key="folder brought").value == str(flat)


@pytest.mark.parametrize("name", ["browse", "watch", "runs", "map", "inspect", "two_stage", "check", "train"])
def test_every_page_of_an_empty_lab_leads_somewhere(no_runs, open_page, no_worker, name):
    page = open_page(name)
    assert page.calm and "No runs yet" in page.words()
    assert any("mine" in link.proto.query_string for link in page.test.get("page_link")), "a folder can be opened"
    assert "lab train" in page.test.code[-1].value or name == "train"
    if name == "browse":
        page.test.button(key="train the demo").click().run()
        assert not page.test.exception and len(Queue(no_runs).names) == 1
