"""Two runs on a folder that changed in between: every page compares the same pictures, and says which these are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import lab.runs


@pytest.fixture(scope="module")
def changed(tmp_path_factory, pictures, train_tiny) -> Path:
    """A folder of the runs `before` and `after`: a picture that sorts first came into every class, so that all numbers
    moved, and one of each class was replaced under its name."""
    root = tmp_path_factory.mktemp("changed")
    photos = Path(shutil.copytree(pictures, root / "photos"))
    data = {"name": "class_folders", "root": str(photos), "test": 0.5, "validation": 0.25}
    sections = {"data": data, "training": {"steps": 4, "validate_every": 4, "device": "cpu"}}
    sampler = {"batch_size": 12, "per_class": 3}
    train_tiny(root / "runs", "before", sampler=sampler, loss="recall_at_k", **sections)
    for folder in sorted(photos.iterdir()):
        (folder / "0-new.png").write_bytes((folder / "1.png").read_bytes() + b"new")
        (folder / "3.png").write_bytes((folder / "2.png").read_bytes() + b"replaced")
    train_tiny(root / "runs", "after", sampler=sampler, loss="smooth_ap", **sections)
    return root / "runs"


@pytest.fixture
def runs(changed, tmp_path, monkeypatch) -> Path:
    root = shutil.copytree(changed, tmp_path / "runs")
    monkeypatch.setenv("LAB_RUNS", str(root))
    monkeypatch.setenv("LAB_DATA", str(changed.parent))
    return root


def plain(page) -> str:
    return page.words().replace("\\", "")


SAID = "24 images joined by name and content; not joined: 8 of before, 16 of after (8 names with another content)."


def test_browse_shows_both_answers_among_the_common_pictures(runs, open_page):
    before, after = (lab.runs.open(runs / name) for name in ("before", "after"))
    keys, joined = after.dataset().keys, lab.runs.join([before, after])
    there = dict(zip(*joined.items.tolist(), strict=True))
    item = int(joined.items[0, 5])
    page = open_page(run="before", split="test", query=str(item), rival="run:after", shown="24")
    assert page.calm and SAID in plain(page), page.words()
    for name, run in (("before", before), ("after", after)):
        shown = [card["id"] for card in page.section("results", f"neighbours {name}")["cards"]]
        embedded, numbers = run.embeddings(), joined.items[("before", "after").index(name)]
        row = {int(number): embedded.vectors[at] for at, number in enumerate(embedded.items)}
        mine = np.array([row[number] for number in numbers.tolist()])
        scores = mine @ row[int(numbers[joined.items[0].tolist().index(item)])]
        score_of = dict(zip(joined.items[0].tolist(), scores.tolist(), strict=True))
        nearest = sorted((score for one, score in score_of.items() if one != item), reverse=True)
        # Which of two all but equal scores is the larger one depends on how a processor sums.
        assert [score_of[one] for one in shown] == pytest.approx(nearest[: len(shown)], abs=1e-5)
        assert len(set(shown)) == len(shown) and item not in shown
    assert {before.dataset().keys[one] for one in there} == {keys[one] for one in there.values()}


def test_a_query_that_the_other_run_never_saw_is_said_to_have_no_answer(runs, open_page):
    before, after = (lab.runs.open(runs / name) for name in ("before", "after"))
    alone = set(before.embeddings().items.tolist()) - set(
        lab.runs.join([before, after]).items[0].tolist()
    )
    page = open_page(run="before", split="test", query=str(min(alone)), rival="run:after")
    assert page.calm and "after has no ranking of this query" in plain(page)


@pytest.mark.parametrize("source", ["differ", "improved", "regressed"])
def test_changed_queries_are_measured_among_the_common_pictures(runs, open_page, source):
    page = open_page(run="before", split="test", rival="run:after", queries=source, by="MAP@R")
    assert page.calm, page.words()
    assert "of 24 queries" in page.gallery("candidates")["sections"][0]["note"]


def test_map_and_runs_say_which_pictures_they_compare(runs, open_page):
    page = open_page("map", run="before", split="test", beside="run:after")
    assert page.calm and SAID in plain(page) and len(page.gallery("two maps drawn")["title"])
    # the newest run comes first
    page = open_page("runs", runs="before,after", compared="Same queries")
    assert (
        page.calm
        and "joined by name and content; not joined: 16 of after, 8 of before" in plain(page)
    )
    assert "the same 24 test images (without 16 of after, 8 of before)" in plain(page)


def test_browse_names_pictures_that_were_replaced_since(runs, open_page):
    """The file of each class's third picture holds another one now; the scores are of the old ones."""
    before = lab.runs.open(runs / "before")
    keys = before.dataset().keys
    items = before.embeddings().items.tolist()
    item = next(one for one in items if Path(keys[one]).name == "3.png")
    said = "replaced since before embedded its test split"
    assert said in plain(open_page(run="before", split="test", query=str(item)))
    after = lab.runs.open(runs / "after").embeddings().items.tolist()
    assert said.replace("before", "after") not in plain(
        open_page(run="after", split="test", query=str(after[0]))
    )


def test_check_links_to_the_image_that_it_means(tmp_path, monkeypatch, open_page):
    """Rows without a class come first here, so that rows of the list are no rows of the split."""
    random = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    centres = np.repeat(np.eye(3, 6), 20, axis=0)
    vectors = np.vstack([random.normal(size=(140, 6)), centres + 0.6 * random.normal(size=(60, 6))])
    named = [*[""] * 140, *labels]
    run = lab.runs.from_embeddings(vectors, named, normalise=True, name="mixed", runs=tmp_path)
    lab.runs.from_embeddings(vectors[140:], labels, normalise=True, name="alone", runs=tmp_path)
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    pairs = {}
    for name in ("mixed", "alone"):
        page = open_page("check", show="pairs", run=name)
        pairs[name] = page.test.dataframe[0].value.values.tolist()
    assert pairs["mixed"] == pairs["alone"], (
        "images without a class take no place among the first k"
    )
    page = open_page("check", show="pairs", run="mixed")
    wanted = page.gallery("confusion matrix")["names"][0]
    page.tell("confusion matrix", "picked", {"row": 0, "column": 1})
    assert page.calm and page.test.header[0].value == "Browse"
    item = int(page.test.query_params["query"])
    assert named[item] == wanted and len(run.embeddings()) == 200
