"""The Check page: confused classes, scores of classes, label errors and duplicates, and the marks that are kept."""

from __future__ import annotations

import numpy as np
import pytest

import lab.runs
from app.results import cache, run_choice
from app.shared import settings
from app.views.check import scene
from lab.runs import marks


@pytest.mark.parametrize("part", ["classes", "twice", "marks"])
def test_every_part_is_drawn_and_has_its_address(runs, open_page, part):
    page = open_page("check", show=part)
    assert page.calm, page.words()
    assert len(page.test.dataframe) == (part in ("pairs", "classes", "slices"))


def test_a_cell_of_the_matrix_opens_browse(runs, open_page):
    page = open_page("check", show="pairs", run="recall", size="10")
    drawn, pairs = page.gallery("confusion matrix"), page.test.dataframe[0].value
    assert len(drawn["names"]) == len(drawn["counts"]) == len(drawn["counts"][0]) == 10
    assert "per cent" in drawn["note"]
    first = pairs.iloc[0]
    assert drawn["names"][:2] == [first["class"], first["taken for"]], "the worst pair comes first"
    assert drawn["counts"][0][1] == first["neighbours"]

    whole = cache.collection("recall", "test", run_choice.view(lab.runs.open("recall", runs)).stamp)
    names = whole.images.class_names
    label = int(whole.query.labels.max())
    chosen = str(names[label])
    page.test.multiselect(key="around").set_value([str(label)]).run()
    assert page.calm and page.gallery("confusion matrix")["names"][0] == chosen
    again = page.again()
    assert again.gallery("confusion matrix")["names"][0] == chosen, "the address holds the choice"

    page = open_page("check", show="pairs", run="recall", size="10")
    for made_up in ({}, {"row": "x", "column": 0}, {"row": 10, "column": 0}):
        page.tell("confusion matrix", "picked", made_up)
        assert page.calm and page.test.header[0].value == "Check"
    page.tell("confusion matrix", "picked", {"row": 0, "column": 1})
    assert page.calm and page.test.header[0].value == "Browse"
    query = int(page.test.query_params["query"])
    assert names[whole.images.labels[query]] == first["class"]
    near = [card["title"] for card in page.section("results", "neighbours")["cards"][:5]]
    assert first["taken for"] in near, "the query shows the confusion"


def test_a_label_error_is_marked_kept_and_listed(runs, open_page):
    page = open_page("check", show="labels", run="recall")
    card = page.section("judged", "suspects")["cards"][0]
    assert card["subtitle"].startswith("looks like ") and card["value"].startswith("confidence ")
    page.pick("judged", "suspects", card["id"])
    page.test.button(key="mark wrong label").click().run()
    assert page.calm, page.words()
    run = lab.runs.open("recall", runs)
    assert list(marks.read(run).values()) == ["wrong label"]
    assert page.section("judged", "suspects")["cards"][0]["subtitle"] == "marked: wrong label"
    assert page.again().section("judged", "suspects")["current"] == card["id"], "the address holds the image"
    listed = open_page("check", show="marks", run="recall")
    assert [one["id"] for one in listed.section("marked", "wrong label")["cards"]] == [card["id"]]
    page.test.button(key="mark wrong label").click().run()
    assert marks.read(run) == {}


def test_duplicates_follow_the_least_similarity(runs, open_page):
    page = open_page("check", show="twice", run="recall", least="0.5")
    many = page.section("judged", "twice")
    page.test.slider(key="least").set_value(1.0).run()
    assert page.calm and len(page.section("judged", "twice")["cards"]) < len(many["cards"])


def test_slices_are_listed_and_the_worst_are_searched(runs, open_page):
    page = open_page("check", show="slices", run="recall", by="mAP", least="5")
    assert page.calm, page.words()
    table = page.test.dataframe[0].value
    assert "Bonferroni" in page.words() and list(table["high"]) == sorted(table["high"])
    page.test.selectbox(key="slice field").set_value("vendor").run()
    assert page.calm, page.words()
    whole = cache.collection("recall", "test", run_choice.view(lab.runs.open("recall", runs)).stamp)
    measured, vendor = whole.measure()["mAP"], np.asarray(whole.images.attributes["vendor"])[whole.query.items]
    table = page.test.dataframe[0].value.set_index("slice")
    for name in np.unique(vendor):
        assert table.loc[f"vendor: {name}", "mAP"] == pytest.approx(np.nanmean(measured[vendor == name]))
    assert page.again().test.selectbox(key="slice field").value == "vendor"


@pytest.fixture
def forgetful():
    """What was computed of changed images is not there for other tests, and the other way round."""
    kept = (scene.trained_neighbours, cache.images, cache.collection, cache._thumbnail)
    forget = [getattr(one, "cache_clear", None) or one.clear for one in kept]
    for one in forget:
        one()
    yield
    for one in forget:
        one()


def test_leakage_is_named_and_marked(runs, open_page, monkeypatch, forgetful):
    page = open_page("check", show="leaks", run="recall", least="1.0")
    assert page.calm and ("Possible leakage: " in page.words()) == bool(page.section("judged", "leaks")["cards"])
    run = lab.runs.open("recall", runs)
    images = run.dataset()
    test, train = (images.splits[name].items for name in ("test", "train"))
    true = images.load
    monkeypatch.setattr(type(images), "load", lambda self, i: true(int(train[3]) if i == test[2] else i))
    monkeypatch.setattr(type(images), "pixels", None)
    scene.trained_neighbours.clear()
    page = open_page("check", show="leaks", run="recall", least="1.0")
    assert page.calm and "Possible leakage: " in page.words() and "small pictures" in str(page.gallery("judged"))
    assert int(test[2]) in [card["id"] for card in page.section("judged", "leaks")["cards"]]
    page.pick("judged", "leaks", int(test[2]))
    page.test.button(key="mark duplicate").click().run()
    assert marks.read(run) == {images.keys[test[2]]: "duplicate"}


def test_training_again_leaves_the_marked_images_out(runs, open_page):
    run = lab.runs.open("recall", runs)
    images = run.dataset()
    wrong = [images.keys[int(images.splits[name].items[0])] for name in ("train", "test")]
    for key in wrong:
        marks.mark(run, key, "wrong label")
    page = open_page("check", show="marks", run="recall")
    button = next(one for one in page.test.button if one.label == "Train again without them")
    assert "1 in train" in button.help and "1 in test" in button.help
    button.click().run()
    assert page.calm, page.words()
    path = page.test.session_state["form.data.emoji7.leave_out"]
    changed = run.config.changed("data.leave_out", path)
    left = changed.data.create()
    assert left.keys == images.keys
    for name, split in left.splits.items():
        gone = set(images.splits[name].items) - set(split.items)
        assert {images.keys[item] for item in gone} == set(
            wrong[:1] if name == "train" else wrong[1:] if name == "test" else ()
        )
    assert settings.confine(changed), "what the dashboard wrote among the runs may be read"
