"""My images: from a folder of one's own to a run in the queue; and the ways into an empty lab."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lab.runs
from lab.data.images import zipped
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig


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


def test_a_folder_of_42_classes_is_found_and_queued(photos, open_page, no_worker, tmp_path):
    page = open_page("train", images="folder")
    assert page.test.text_input(key="my folder").value == str(photos.parent)
    page.test.selectbox(key="my folder into").set_value("photos").run()
    assert page.test.text_input(key="my folder").value == str(photos)
    assert page.calm, page.words()
    assert page.section("my sample", "sample")["title"] == "42 classes, 145 images"
    assert len(page.section("my sample", "sample")["cards"]) == 12
    labels = [one.label for one in page.test.expander]
    assert (
        "From 2 images (kind 0) to 5 (kind 7) in a class" in labels
        and "What was left out, and why" in labels
    )
    assert "17 training classes" in page.words(), "what was chosen is said in a line"
    assert page.test.query_params == {"images": "folder", "folder": str(photos)}, (
        "a reload shows the same"
    )
    assert len([b for b in page.test.button if b.proto.type == "primary"]) == 1
    press(page, "Start")
    assert not page.test.exception
    assert Queue(tmp_path / "runs").names == ("photos-as-it-came", "photos"), (
        "a head, beside the network as it came"
    )
    config = lab.runs.open("photos", tmp_path / "runs").config
    assert config.encoder.name == "adapted" and config.loss.name == "recall_at_k"
    drawn = config.sampler.knobs
    assert config.data.knobs.root == str(photos) and drawn.batch_size == 17 * drawn.per_class


def test_where_to_begin_is_every_folder_that_may_be_read(photos, open_page, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_DATA", f"{photos.parent}:{tmp_path / 'more'}")
    (tmp_path / "more").mkdir()
    config = RunConfig.of({"data": {"name": "class_folders", "root": str(photos)}})
    lab.runs.create(config, tmp_path / "runs", "before")
    page = open_page("train", images="folder")
    into = page.test.selectbox(key="my folder into")
    assert into.options == [str(photos.parent), str(tmp_path / "more"), str(photos)], (
        "and what was trained on before"
    )
    into.set_value(str(photos)).run()
    assert page.calm and "42 classes" in page.section("my sample", "sample")["title"]
    assert page.test.button_group(key="length of folder").value == "head", (
        "though the page was there before the folder"
    )
    press(page, "Up"), press(page, "Up")
    assert page.test.text_input(key="my folder").value == "" and page.calm


def test_a_zip_is_unpacked_beside_the_runs(photos, open_page, tmp_path):
    path = shutil.make_archive(str(tmp_path / "packed"), "zip", photos.parent, "photos")
    with zipfile.ZipFile(path, "a") as archive:
        for sly in (
            "../../out.png",
            "/tmp/out.png",
            "photos/kind 0/.hidden.png",
            "__MACOSX/photos/kind 0/0.png",
        ):
            archive.writestr(sly, b"x")
    page = open_page("train", images="zip")
    page.test.file_uploader(key="zip").set_value(
        ("my pets.zip", Path(path).read_bytes(), "application/zip")
    ).run()
    assert page.calm, page.words()
    assert page.test.text_input(key="my folder").value == str(
        tmp_path / "runs" / ".unpacked" / "my-pets" / "photos"
    )
    assert page.section("my sample", "sample")["title"] == "42 classes, 145 images"
    assert not list(tmp_path.rglob("*out.png")) and not list((tmp_path / "runs").rglob("*hidden*"))
    for words, content in (
        ("cannot be unpacked", b"PK\3\4 no"),
        ("holds no image", _zip(("a.txt", b"x"))),
    ):
        page = open_page("train", images="zip")
        page.test.file_uploader(key="zip").set_value(("x.zip", content, "application/zip")).run()
        assert words in page.words() and not page.test.exception


def test_a_zip_that_is_too_large_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(zipped, "MOST_BYTES", 10)
    with pytest.raises(ValueError, match="1 image of 11 bytes"):
        zipped.unpack(io.BytesIO(_zip(("a/1.png", b"GIF89a" + bytes(5)))), tmp_path / "new")
    assert not list(tmp_path.iterdir())


def _zip(*files: tuple[str, bytes]) -> bytes:
    with zipfile.ZipFile(whole := io.BytesIO(), "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return whole.getvalue()


@pytest.mark.parametrize("typed", ["/etc", "nowhere"])
def test_a_folder_that_may_not_be_read_is_a_sentence(photos, open_page, typed):
    page = open_page("train", images="folder", folder=typed)
    assert not page.test.exception and page.test.error
    assert "may read" in page.words() or "no folder" in page.words()
    assert next(b for b in page.test.button if b.label == "Start").disabled


def test_pictures_without_classes_are_led_to_where_none_are_needed(photos, open_page):
    flat = photos / "kind 3"
    page = open_page("train", images="folder", folder=str(flat))
    into = page.test.selectbox(key="my folder into")
    assert (into.proto.placeholder, into.disabled) == ("no folder here", False), (
        "its label could not be read"
    )
    assert not page.test.exception and "holds no images in class folders" in page.words()
    assert "This folder has 5 pictures without a class" in page.words()
    link = next(
        one for one in page.test.get("page_link") if one.proto.label == "Embed these pictures"
    )
    assert "bring=yes" in link.proto.query_string and "kind" in link.proto.query_string
    runs = open_page("runs", bring="yes", folder=str(flat))
    assert runs.calm and runs.test.text_input(key="folder brought").value == str(flat)


@pytest.mark.parametrize(
    "name", ["browse", "grid", "watch", "runs", "map", "inspect", "two_stage", "check", "train"]
)
def test_every_page_of_an_empty_lab_leads_somewhere(no_runs, open_page, no_worker, name):
    page = open_page(name)
    assert page.calm and "No runs yet" in page.words()
    mine = any("images=folder" in link.proto.query_string for link in page.test.get("page_link"))
    assert mine or name == "train", "a folder can be opened"
    assert name == "train" or "lab train" in page.test.code[-1].value
    if name == "train":
        press(page, "Start")
        assert not page.test.exception and len(Queue(no_runs).names) == 1, "one click trains"
    if name == "browse":
        page.test.button(key="start the demo").click().run()
        assert not page.test.exception and len(Queue(no_runs).names) == 2
