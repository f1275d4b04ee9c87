"""The Check page: confused classes, scores of classes, label errors and duplicates, and the marks that are kept."""

from __future__ import annotations

import re
import shutil
from collections.abc import MutableMapping

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

import lab.runs
from app.components.gallery import Judging
from app.results import cache, run_choice
from app.shared import settings
from app.views.check import judging
from lab.runs import marks, whole_set
from lab.runs.marks import Mark


@pytest.mark.parametrize("part", ["slices", "marks"])
def test_every_part_is_drawn_and_has_its_address(runs, open_page, part):
    page = open_page("check", show=part)
    assert page.calm, page.words()
    assert len(page.test.dataframe) == (part != "marks")


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
    page.tell("confusion matrix", "picked", {"row": 10, "column": 0})
    assert page.calm and page.test.header[0].value == "Check"
    page.tell("confusion matrix", "picked", {"row": 0, "column": 1})
    assert page.calm and page.test.header[0].value == "Browse"
    query = int(page.test.query_params["query"])
    assert names[whole.images.labels[query]] == first["class"]
    near = [card["title"] for card in page.section("results", "neighbours")["cards"][:5]]
    assert first["taken for"] in near, "the query shows the confusion"


@pytest.fixture(scope="module")
def trained_on_planted(tmp_path_factory, train_tiny, pictures):
    """A folder of a run on pictures of which two lie in a wrong class and one lies in two; do not write into it."""
    root = tmp_path_factory.mktemp("planted")
    shutil.copytree(pictures, root / "pictures")
    for source, target in MOVED.items():
        shutil.move(root / "pictures" / source, root / "pictures" / target)
    shutil.copy(root / "pictures" / "class01" / "0.png", root / "pictures" / COPY)
    data = {"name": "class_folders", "root": str(root / "pictures"), "validation": 0.3, "test": 0.4}
    train_tiny(root / "runs", "planted", data=data, sampler={"batch_size": 8, "per_class": 2})
    return root


MOVED = {"class00/3.png": "class05/moved.png", "class03/2.png": "class09/moved.png"}
COPY = "class12/copy.png"


@pytest.fixture
def planted(trained_on_planted, tmp_path, monkeypatch):
    """A copy of that folder of runs that a test may spoil, and the run's data set."""
    root = shutil.copytree(trained_on_planted / "runs", tmp_path / "runs")
    monkeypatch.setenv("LAB_RUNS", str(root))
    monkeypatch.setenv("LAB_DATA", str(trained_on_planted))
    return root, lab.runs.open("planted", root).dataset()


def tell(page, *entries: dict) -> None:
    """Answers as the browser numbers them."""
    page.tell("judged", "told", {"log": list(entries)})
    assert page.calm, page.words()


def panel(page) -> dict:
    """What the panel was given, and the list."""
    drawn = page.gallery("judged")
    return {**drawn["judge"], "listed": drawn["sections"][0]}


def test_a_label_error_is_shown_with_evidence_judged_and_undone(planted, open_page):
    root, images = planted
    page = open_page("check", show="labels", run="planted")
    assert page.calm, page.words()
    cards = {card["id"]: card for card in panel(page)["listed"]["cards"]}
    wrong = [images.keys.index(key) for key in MOVED.values()]
    assert set(wrong) <= set(cards), "both moved images are listed, whatever their splits"
    counted = r"(About \d+|Few or none) of (the first|these) \d+ are errors"
    assert re.search(
        rf"{counted}|The number of errors among these [\d,]+ cannot be estimated", page.words()
    )
    frame = panel(page)["frames"][0]
    item = frame["id"]
    assert item == panel(page)["listed"]["current"] and frame["suggested"]
    assert frame["suggested"] in cards[item]["subtitle"] or "…" in cards[item]["subtitle"]
    vectors = whole_set.kept(lab.runs.open("planted", root)).vectors
    cosines = [float(vectors[item] @ one / np.linalg.norm(one)) for one in vectors]
    nearest = sorted((i for i in range(len(images)) if i != item), key=lambda i: -cosines[i])
    assert [card["id"] for card in frame["sections"][0]["cards"]] == nearest[:6]
    for section, name in zip(
        frame["sections"][1:],
        (images.class_names[images.labels[item]], frame["suggested"]),
        strict=True,
    ):
        assert {images.class_names[images.labels[card["id"]]] for card in section["cards"]} == {
            name
        }
        assert name in section["title"] and item not in [card["id"] for card in section["cards"]]

    after = panel(page)["frames"][1]["id"]
    tell(page, {"n": 1, "does": "relabel", "ids": [item], "at": after})
    assert marks.read(root, images) == {item: Mark("relabel", frame["suggested"])}
    assert panel(page)["listed"]["current"] == after and panel(page)["heard"] == 1
    first = {"n": 1, "does": "drop", "ids": [item], "at": after}
    tell(page, first, {"n": 2, "does": "keep", "ids": [after], "at": after})
    assert marks.read(root, images) == {
        item: Mark("relabel", frame["suggested"]),
        after: Mark("keep"),
    }, "one is old"
    tell(page, {"n": 4, "does": "drop", "ids": [-1], "at": item})
    tell(page, {"n": 5, "does": "undo", "at": item})
    assert (
        marks.read(root, images) == {item: Mark("relabel", frame["suggested"])}
        and panel(page)["undoable"]
    )
    tell(page, {"n": 6, "does": "undo", "at": item})
    assert marks.read(root, images) == {} and not panel(page)["undoable"]
    assert panel(page.again())["listed"]["current"] == item, "the address holds the image"


class Interrupted(MutableMapping):
    """The session's state of a run that a newer click ends at the given access."""

    def __init__(self, state, ends_at: int):
        self.state, self.left = state, ends_at

    def access(self):
        self.left -= 1
        if self.left == 0:
            raise StopException
        return self.state

    def __getitem__(self, key):
        return self.access()[key]

    def __setitem__(self, key, value):
        self.access()[key] = value

    def __delitem__(self, key):
        del self.access()[key]

    def __iter__(self):
        return iter(self.state)

    def __len__(self):
        return len(self.state)


def test_an_answer_is_kept_once_wherever_a_newer_click_ends_it(planted, open_page, monkeypatch):
    """The browser tells again what was not heard."""
    root, images = planted
    page = open_page("check", show="labels", run="planted")
    first, second = (card["id"] for card in panel(page)["listed"]["cards"][:2])
    hear, ended = Judging.hear, []
    for ends_at in range(1, 40):

        def interrupted(judging, *given, ends_at=ends_at):
            with monkeypatch.context() as patch:
                patch.setattr("streamlit.session_state", Interrupted(st.session_state, ends_at))
                try:
                    hear(judging, *given)
                except StopException:
                    ended.append(ends_at)
                    raise

        log = [{"n": 2 * ends_at, "does": "drop", "ids": [first], "at": second}]
        with monkeypatch.context() as patch:
            patch.setattr(Judging, "hear", interrupted)
            tell(page, *log)
        tell(page.run(), *log)
        assert marks.read(root, images) == {first: Mark("drop")} and panel(page)["undoable"]
        log = [{"n": 2 * ends_at + 1, "does": "undo", "at": second}]
        with monkeypatch.context() as patch:
            patch.setattr(Judging, "hear", interrupted)
            tell(page, *log)
        tell(page.run(), *log)
        assert marks.read(root, images) == {} and not panel(page)["undoable"], "it was given once"
        if ends_at not in ended:
            break
    assert 3 < len(set(ended)) < 39


def test_several_are_answered_at_once_and_by_another_class(planted, open_page):
    root, images = planted
    page = open_page("check", show="labels", run="planted")
    ids = [card["id"] for card in panel(page)["listed"]["cards"][:2]]
    page.tell("judged", "chosen", {"ids": ids, "count": 1})
    assert page.gallery("judged")["selected"] == sorted(ids)
    tell(
        page,
        {"n": 1, "does": "relabel", "label": "class11", "ids": ids, "at": ids[0], "last": True},
    )
    assert marks.read(root, images) == dict.fromkeys(ids, Mark("relabel", "class11"))
    tell(page, {"n": 2, "does": "relabel", "label": "nowhere", "ids": ids[:1], "at": ids[0]})
    assert marks.read(root, images)[ids[0]].label == "class11", "there is no such class"


def test_a_copy_is_found_in_any_two_splits(planted, open_page):
    root, images = planted
    pair = [images.keys.index(key) for key in ("class01/0.png", COPY)]
    home = {item: name for name, split in images.splits.items() for item in split.items.tolist()}
    across = home[pair[0]] != home[pair[1]]
    for show in ("twice", "leaks") if across else ("twice",):
        page = open_page("check", show=show, run="planted", least="1.0")
        assert page.calm, page.words()
        (card,) = panel(page)["listed"]["cards"]
        assert card["id"] in pair and all(home[item] in card["subtitle"] for item in pair)
        assert ("Possible leakage" in page.words()) == (show == "leaks")
        shown = panel(page)["frames"][0]["shown"]
        assert {one["lines"][0] for one in shown} == {images.keys[item] for item in pair}
    (other,) = {*pair} - {card["id"]}
    tell(page, {"n": 1, "does": "duplicate", "ids": [card["id"]], "at": card["id"], "last": True})
    assert marks.read(root, images) == {card["id"]: Mark("duplicate", of=images.keys[other])}
    page.test.slider(key="least").set_value(0.8).run()
    assert page.calm and card["id"] in [one["id"] for one in panel(page)["listed"]["cards"]]
    listed = open_page("check", show="marks", run="planted")
    assert (
        listed.section("marked", "duplicate")["cards"][0]["subtitle"]
        == f"repeats {images.keys[other]}"
    )


@pytest.mark.parametrize(
    "name, other, short",
    [
        ("animals - mammals - lion", "animals - mammals - tiger", "… lion"),
        ("golden_retriever_of_scotland", "golden_eagle", "… retriever_of_scotland"),
        ("nine o'clock", "nine-thirty", "nine o'clock"),
        ("animals - mammals - lion", "tools - hammer", "animals - mammals - lion"),
        (
            "a class of a very long name",
            "a class of a very long name",
            "a class of a very long name",
        ),
    ],
)
def test_names_are_told_apart(name, other, short):
    assert judging.apart(name, other) == short


def test_classes_and_other_slices_are_listed(runs, open_page):
    page = open_page("check", show="slices", run="recall", by="mAP", row="0")
    assert page.calm, page.words()
    table = page.test.dataframe[0].value
    assert list(table["mean"]) == sorted(table["mean"])
    assert page.gallery("classes shown")["sections"][0]["title"] == table["value"][0]
    page.test.selectbox(key="slice field").set_value("vendor").run()
    assert page.calm, page.words()
    whole = cache.collection("recall", "test", run_choice.view(lab.runs.open("recall", runs)).stamp)
    measured, vendor = (
        whole.measure()["mAP"],
        np.asarray(whole.images.attributes["vendor"])[whole.query.items],
    )
    table = page.test.dataframe[0].value.set_index("value")
    for name in np.unique(vendor):
        assert table.loc[name, "mean"] == pytest.approx(np.nanmean(measured[vendor == name]))
    assert page.again().test.selectbox(key="slice field").value == "vendor"


@pytest.mark.parametrize(
    "name", ["queries", "low", "mAP", "class", "super-class", "nearest is right"]
)
def test_slices_by_a_column_that_bears_a_name_of_ours(name, no_runs, open_page):
    random = np.random.default_rng(0)
    labels = np.repeat([f"c{one}" for one in range(8)], 6)
    values = random.permutation(np.arange(48) % 3).astype(str)
    vectors = np.repeat(random.normal(size=(8, 6)), 6, axis=0) + random.normal(size=(48, 6))
    keys = [f"i{one}" for one in range(48)]
    run = lab.runs.from_embeddings(
        vectors,
        labels,
        keys=keys,
        metadata={name: values},
        name="mine",
        runs=no_runs,
        normalise=True,
    )
    field = name if name in ("queries", "low", "mAP") else f"{name} (column)"
    page = open_page("check", show="slices", run="mine", by="MAP@R", field=field)
    assert page.calm, page.words()
    table = page.test.dataframe[0].value
    assert sorted(table["value"]) == ["0", "1", "2"] and table["queries"].sum() == 48
    measured = run.per_query("test")["MAP@R"]
    for value, mean in zip(table["value"], table["mean"], strict=True):
        assert mean == pytest.approx(np.nanmean(measured[values == value]))
    for other in ("map", "browse"):
        assert open_page(other, run="mine").calm


def test_training_again_takes_the_corrections_along(runs, open_page):
    run = lab.runs.open("recall", runs)
    images = run.dataset()
    wrong = {name: int(images.splits[name].items[0]) for name in ("train", "test")}
    marks.write(runs, images, {item: marks.Mark("drop") for item in wrong.values()})
    page = open_page("check", show="marks", run="recall")
    assert "2 marked images: 1 for training, 1 for testing" in page.words()
    next(
        one for one in page.test.button if one.label == "Train again with these corrections"
    ).click().run()
    assert page.calm, page.words()
    changed = run.config.changed(
        "data.corrections", page.test.session_state["form.data.emoji7.corrections"]
    )
    left = changed.data.create()
    assert page.test.text_input(key="name").value == "recall-2" and left.keys == images.keys
    for name, split in left.splits.items():
        assert set(images.splits[name].items) - set(split.items) == {
            item for one, item in wrong.items() if one == name
        }
    assert settings.confine(changed), "what the dashboard wrote among the runs may be read"
