"""The Two-stage page and the costs behind it, against plain loops over the embeddings."""

from __future__ import annotations

import shutil

import numpy as np

import lab.runs
from lab.core.arrays import read as tensors
from lab.evaluation.collection import Collection
from lab.evaluation.two_stage import Anchors, InvertedGallery
from lab.runs.writer import Writer


def test_the_page_says_whose_anchors_and_shows_what_is_lost(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(
        "two_stage", run="recall", split="test", probes="2", query=str(embedded.items[3])
    )
    assert page.calm, page.words()
    assert "class means of this gallery" in page.words()
    assert page.test.query_params["probes"] == "2"
    whole = Collection(None, embedded, embedded)
    cost = InvertedGallery(whole, Anchors.means(embedded)).cost(int(embedded.items[3]), 2, 24)
    right = cost.brute.hits[0, cost.lost]
    matches = [card["rank"] for card in page.section("lost", "lost matches")["cards"]]
    assert matches[: right.sum()] == (cost.lost[right] + 1).tolist() and all(
        rank > 24 for rank in matches[right.sum() :]
    )
    metrics = {one.label: one.value for one in page.test.metric}
    assert metrics["Comparisons"] == f"{int(cost.fast.comparisons[0]):,}"
    assert (
        metrics["All true matches"]
        == f"{int(cost.brute.num_positives[0]) - len(cost.lost_matches)} in reach"
    )
    count = len(np.unique(embedded.labels))
    page.test.select_slider(key="probes").set_value(count).run()
    assert page.calm, page.words()
    assert page.section("lost", "lost matches")["cards"] == []
    assert "None: all are" in page.section("lost", "lost matches")["empty"]
    page.pick("found", "found", page.section("found", "found")["cards"][1]["id"])
    assert page.calm and page.test.query_params["probes"] == str(count)


def test_learnt_anchors_are_used_and_losers_offered(runs, open_page):
    run = lab.runs.open(runs / "recall")
    stored = tensors(run.path / "embeddings" / "test.safetensors")
    # images of this split in their place spread the others out
    anchors = stored["query.vectors"][::3].copy()
    kept = {"anchors": anchors, "anchor_labels": np.arange(len(anchors))}
    Writer(lab.runs.open(shutil.copytree(run.path, runs / "anchored"))).arrays(
        "embeddings", "test", stored | kept
    )
    page = open_page("two_stage", run="anchored", split="test", probes="1")
    assert page.calm, page.words()
    assert f"{len(anchors):,} anchors, learnt by this run" in page.words()
    page.test.radio(key="raced").set_value("lost").run()
    strip = page.section("raced candidates", "candidates")
    counts = [int(card["value"].split()[0]) for card in strip["cards"]]
    assert counts and counts == sorted(counts, reverse=True)
    page.pick("raced candidates", "candidates", strip["cards"][0]["id"])
    ranks = [card["rank"] for card in page.section("lost", "lost matches")["cards"]]
    assert sum(rank <= 24 for rank in ranks) == counts[0]


def test_choices_are_in_the_address(runs, open_page):
    page = open_page("two_stage", run="recall")
    assert set(page.test.query_params) == {"run", "query"}, "what stands at its default stays out"
    page.test.radio(key="raced").set_value("lost").run()
    page.test.slider(key="first").set_value(7).run()
    page.test.select_slider(key="probes").set_value(2).run()
    page.test.get("button_group")[0].set_value("validation").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert (
        other.test.query_params["split"] == "validation" and other.test.query_params["first"] == "7"
    )
    assert other.section("raced candidates", "candidates") == page.section(
        "raced candidates", "candidates"
    )
    assert other.section("lost", "lost matches") == page.section("lost", "lost matches")
    page.test.radio(key="raced").set_value("class").run()
    page.test.selectbox(key="class").set_value(page.test.selectbox(key="class").options[3]).run()
    strip = page.section("raced candidates", "candidates")
    assert page.again().section("raced candidates", "candidates")["cards"] == strip["cards"] != []
