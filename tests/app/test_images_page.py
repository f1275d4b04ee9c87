"""The Images page, and the selection that it shares with other pages."""

from __future__ import annotations

import numpy as np
import pytest

import lab
import lab.runs
from app.results import cache, run_choice, selection
from lab.core.results import EmbeddingSet
from lab.runs import marks
from lab.runs.marks import Mark


def ids(page) -> list[int]:
    return [card["id"] for card in page.section("grid", "images")["cards"]]


def choose(page, *items: int):
    return page.tell(
        "grid", "chosen", {"ids": list(items), "count": page.gallery("grid")["heard"] + 1}
    )


def press(page, label: str):
    next(one for one in page.test.button if one.label.startswith(label)).click().run()
    assert page.calm, page.words()
    return page


@pytest.fixture
def images(runs):
    return lab.runs.open("recall", runs).dataset()


def test_all_images_of_all_splits_are_there_and_can_be_filtered_and_ordered(
    runs, images, open_page
):
    page = open_page("grid", run="recall")
    assert page.calm, page.words()
    assert (
        ids(page) == list(range(120))
        and page.section("grid", "images")["title"] == f"{len(images):,} images"
    )
    validation = images.splits["validation"].items
    name = str(images.class_names[images.labels[validation[0]]])
    found = open_page("grid", run="recall", splits="validation", find=name.upper())
    assert ids(found) == [
        item for item in validation.tolist() if name in images.class_names[images.labels[item]]
    ]
    ordered = open_page("grid", run="recall", order="wrong", splits="test", shown="240")
    stored = lab.runs.open("recall", runs).per_query("test")["r@1"]
    right = [card["right"] for card in ordered.section("grid", "images")["cards"]]
    assert right == sorted(right) and right.count(False) == min(240, int((stored == 0).sum()))


def test_a_selection_is_the_same_for_runs_on_the_same_images_and_on_other_pages(runs, open_page):
    page = choose(open_page("grid", run="recall"), 3, 5, 10**6)
    page.test.selectbox(key="run").set_value("smooth").run()
    assert page.gallery("grid")["selected"] == [3, 5] and "**2 images selected**" in page.words()
    page.test.button_group(key="grid size").set_value(60).run()
    press(page, "Select page")
    assert len(page.gallery("grid")["selected"]) == 60
    choose(page)
    assert "No images selected" in page.words()


def test_a_selection_is_saved_opened_by_its_address_changed_and_deleted(runs, images, open_page):
    view = run_choice.view(lab.runs.open("recall", runs))
    page = choose(open_page("grid", run="recall"), 3, 5)
    next(one for one in page.test.text_input if one.label == "Name").set_value("odd ones").run()
    press(page, "Save 2")
    assert marks.read(runs, images) == dict.fromkeys([3, 5], Mark(tags=("odd ones",)))
    assert page.test.query_params["selection"] == "odd ones"
    other = open_page("grid", run="smooth", selection="odd ones")
    assert other.gallery("grid")["selected"] == [3, 5]
    assert other.section("grid", "images")["cards"][3]["subtitle"] == "#odd ones"
    assert ids(open_page("grid", run="recall", only="tag odd ones")) == [3, 5]
    choose(other, 5, 7)
    assert "selection" not in other.test.query_params, "it is no longer the saved one"
    press(other, "Save 2")
    assert selection.saved(view)["odd ones"].tolist() == [5, 7]
    press(other, "Delete")
    assert marks.read(runs, images) == {}
    assert (
        "There is no selection odd ones"
        in open_page("grid", run="recall", selection="odd ones").test.error[0].value
    )


def test_train_without_and_only_on_a_selection(runs, images, open_page):
    train, test = (images.splits[name].items[:2].tolist() for name in ("train", "test"))
    page = choose(open_page("grid", run="recall", shown="240"), *train, *test)
    assert "2 for training, 2 for testing" in page.words()
    for label, left in (
        ("Train without", {*train, *test}),
        ("Train only", {*images.splits["train"].items.tolist()} - {*train}),
    ):
        page = press(choose(open_page("grid", run="recall", only="all"), *train, *test), label)
        assert page.test.header[0].value == "Train"
        table = page.test.session_state["form.data.emoji7.corrections"]
        trained = lab.data.create("emoji7", **{**images.knobs.model_dump(), "corrections": table})
        kept = np.concatenate([split.items for split in trained.splits.values()])
        every = np.concatenate([split.items for split in images.splits.values()])
        assert set(every) - set(kept) == left


def test_an_export_can_be_trained_on(pictures, tmp_path):
    images = lab.data.create("class_folders", root=str(pictures), validation=0.5, test=0.25)
    file = tmp_path / "selection.csv"
    file.write_text(marks.as_table(images, [1, 5, 60], {5: Mark("keep", tags=("a", "b"))}))
    read = lab.data.create("manifest", path=str(file), root=str(pictures))
    assert read.keys == [images.keys[item] for item in (1, 5, 60)]
    assert (
        read.attributes["tags"].tolist() == ["", "a | b", ""]
        and read.attributes["answer"].tolist()[1] == "keep"
    )


def test_a_hundred_thousand_images_come_by_pages_and_the_browser_fetches_their_pictures(
    runs, images, open_page, monkeypatch, count_calls
):
    many = 100_000
    images.keys, images.labels = [f"{at}.png" for at in range(many)], np.arange(many) % 7
    images.attributes, images.super_labels, images.class_names = {}, None, list("abcdefg")
    monkeypatch.setattr(cache, "images", lambda *_: images)
    made = count_calls("app.results.cache._thumbnail")
    page = open_page("grid", run="smooth", page="3", find="9 .png")
    assert (
        page.calm
        and ids(page) == [at for at in range(many) if "9" in str(at)][240:360]
        and not made
    )
    assert page.section("grid", "images")["cards"][0]["src"].startswith("/rankscope/pictures/")


def test_likely_label_errors_come_first(runs, images, open_page, monkeypatch):
    items, labels = np.arange(100, 160), np.repeat([0, 1], 30)
    vectors = np.random.default_rng(0).normal(size=(60, 8)) + 4 * labels[:, None]
    labels[3] = 1  # wrong
    made = EmbeddingSet(vectors.astype(np.float32), labels, items)
    monkeypatch.setattr("lab.runs.whole_set.kept", lambda run: made)
    page = open_page("grid", run="recall", order="errors")
    assert page.calm and ids(page)[0] == 103
