"""Home: which two runs it shows, which search of theirs, what it says of an empty folder, and what trains."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import lab.runs
from app.results import run_choice
from app.views.home import scene
from lab.launchers.background.queue import Queue
from lab.runs import examples


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    root = tmp_path_factory.mktemp("given")
    examples.copy_into(root)
    return root


@pytest.fixture
def on_examples(given, tmp_path, monkeypatch):
    root = shutil.copytree(given, tmp_path / "runs")
    monkeypatch.setenv("LAB_RUNS", str(root))
    return root


def told(page) -> str:
    return "".join(one.proto.body for one in page.test.get("html"))


def test_the_search_is_the_one_that_gains_most_of_those_that_the_second_run_mends(on_examples):
    found = scene.find(run_choice.library())
    low, high = (one.view for one in found.answers)
    assert (low.run.name, high.run.name) == ("example-cross_entropy", "example-recall_at_k")

    def precision(view, item: int) -> tuple[bool, float]:
        """Whether the first is right, and MAP@R: by a plain loop."""
        query = view.collection.query
        row = int(np.flatnonzero(query.items == item)[0])
        apart = np.square(query.vectors - query.vectors[row]).sum(1)
        right = (query.labels == query.labels[row])[
            [at for at in np.argsort(apart, kind="stable") if at != row]
        ]
        positives = int((query.labels == query.labels[row]).sum()) - 1
        hits = [right[: place + 1].mean() for place in range(positives) if right[place]]
        return bool(right[0]), sum(hits) / positives

    gains = []
    for item in [found.item, *low.collection.query.items[::61].tolist()]:
        (before, worse), (after, better) = precision(low, item), precision(high, item)
        gains.append(better - worse if after and not before else -1.0)
    assert (
        gains[0] == max(gains) > 0.9
        and not precision(low, found.item)[0]
        and precision(high, found.item)[0]
    )


def test_it_shows_both_rows_with_marks_and_shares(on_examples, open_page):
    page = open_page("home")
    rows = re.findall(r"<ol>(.*?)</ol>", told(page))
    assert (
        page.calm
        and [row.count("✓") for row in rows] == [0, 6]
        and rows[0].count("wrong, ") + rows[0].count("✗") == 6
    )
    for run, row in zip(
        ("cross_entropy", "recall_at_k"),
        re.findall(r"right for (\d+) of 100", told(page)),
        strict=True,
    ):
        assert int(row) == round(
            100 * lab.runs.open(f"example-{run}", on_examples).scores()["values"]["r@1"]
        )
    links = {link.proto.label: link.proto.query_string for link in page.test.get("page_link")}
    assert set(links) == {
        "Look closer at this search",
        "Use my pictures",
        "Use my embeddings",
        "Learn how it works",
    }
    assert "rival=run%3Aexample-cross_entropy" in links["Look closer at this search"]


def test_runs_on_other_queries_or_of_one_configuration_are_no_pair(on_examples, open_page):
    shutil.rmtree(on_examples / "example-cross_entropy")
    shutil.copytree(on_examples / "example-recall_at_k", on_examples / "twin")
    page = open_page("home")
    assert (
        page.calm
        and not told(page)
        and "Start the demo" not in [one.label for one in page.test.button]
    )
    config = on_examples / "twin" / "config.yaml"
    config.write_text(
        config.read_text()
        .replace("split_seed: 0", "split_seed: 1")
        .replace("tau1: 1.0", "tau1: 2.0")
    )
    assert scene.find(run_choice.library()) is None


def test_no_clear_difference_is_called_none():
    labels, none = np.arange(200) // 4, np.zeros(200)
    assert scene._verdict("a", "b", none, np.repeat([1.0, -1.0], 100), labels).startswith(
        ": no clear difference"
    )
    gained = np.random.default_rng(0).integers(0, 2, 200).astype(float)
    told = scene._verdict("a", "c", none, gained, labels)
    assert re.fullmatch(r"; in other classes, too, likely 4\d to 6\d more than above", told)


def test_an_empty_folder_offers_the_demo_which_shows_at_once_what_it_trains(
    no_runs, open_page, no_worker
):
    page = open_page("home")
    assert page.calm and not told(page)
    page.test.button(key="start the demo").click().run()
    assert page.calm and "right for 65 of 100" in told(page)
    assert Queue(no_runs).names == ("demo-cross_entropy", "demo-recall_at_k")
    assert any(link.proto.label == "Watch them learn" for link in page.test.get("page_link"))
