"""The Two-stage page and the costs behind it, against plain loops over the embeddings."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lab.runs
from lab.core.arrays import read as tensors
from lab.core.results import EmbeddingSet
from lab.evaluation.collection import Collection
from lab.evaluation.two_stage import Anchors, InvertedGallery
from lab.runs.writer import Writer


@pytest.fixture(scope="module")
def inverted() -> InvertedGallery:
    """Ninety images of nine loose classes, under anchors that lie a little beside their means."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(9, 6))
    labels = np.arange(90) % 9
    vectors = centres[labels] + 0.9 * random.normal(size=(90, 6))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    embedded = EmbeddingSet(vectors, labels, np.arange(90) * 2)
    anchors = (centres + 0.2 * random.normal(size=(9, 6))).astype(np.float32)
    return InvertedGallery(Collection(None, embedded, embedded), Anchors(anchors, np.arange(9), learnt=True))


def by_hand(inverted: InvertedGallery, row: int, probes: int) -> tuple[np.ndarray, set[int], int]:
    """The exact order of a query's neighbours, the positions it reaches, and its comparisons."""
    vectors = inverted.collection.gallery.vectors.astype(float)
    anchors = inverted.anchors.vectors / np.linalg.norm(inverted.anchors.vectors, axis=1, keepdims=True)
    home = (vectors @ anchors.T).argmax(1)
    opened = np.argsort(-(anchors @ vectors[row]))[:probes]
    order = np.argsort(-(vectors @ vectors[row]), kind="stable")
    reached = set(np.flatnonzero(np.isin(home, opened)).tolist())
    return order[order != row], reached, len(anchors) + len(reached)


@pytest.mark.parametrize("probes", [1, 3, 9])
def test_a_cost_tells_what_is_lost(inverted, probes):
    for row in (0, 17, 44):
        cost = inverted.cost(row * 2, probes, k=10)
        order, reached, compared = by_hand(inverted, row, probes)
        assert cost.lost.tolist() == [rank for rank, one in enumerate(order[:10]) if one not in reached]
        labels = inverted.collection.gallery.labels
        matches = [one for one in order if labels[one] == labels[row]]
        assert cost.lost_matches.tolist() == [one for one in matches if one not in reached]
        assert cost.fast.comparisons[0] == compared
        assert cost.brute.comparisons[0] == 90
        assert cost.fast_ms > 0 and cost.brute_ms > 0
        kept = cost.fast.neighbours[0][cost.fast.neighbours[0] >= 0]
        assert kept.tolist() == [one for one in order if one in reached]


def test_curves_are_the_means_of_the_costs(inverted):
    curves = inverted.curves(k=10)
    assert curves.queries == 90
    for probes in (1, 4, 9):
        found, matched, compared = [], [], []
        labels = inverted.collection.gallery.labels
        for row in range(90):
            order, reached, count = by_hand(inverted, row, probes)
            mine = [one for one in order if labels[one] == labels[row]]
            found.append(np.mean([one in reached for one in order[:10]]))
            matched.append(np.mean([one in reached for one in mine]))
            compared.append(count / 90)
        assert curves.neighbours[probes - 1] == pytest.approx(np.mean(found))
        assert curves.matches[probes - 1] == pytest.approx(np.mean(matched))
        assert curves.comparisons[probes - 1] == pytest.approx(np.mean(compared))


def test_losers_come_with_what_they_lose(inverted):
    items, lost = inverted.losers(2, k=10)
    assert (np.diff(lost) <= 0).all() and (lost > 0).all()
    for item, count in list(zip(items.tolist(), lost.tolist(), strict=True))[:5]:
        assert len(inverted.cost(item, 2, 10).lost) == count
    assert len(inverted.losers(9, k=10)[0]) == 0


def test_a_queries_way_ends_at_every_anchor(inverted):
    order = inverted.order(34)
    assert sorted(order.tolist()) == list(range(9))
    assert inverted.sizes.sum() == 90
    assert inverted.matches(34).sum() == 9


def test_class_means_stand_in():
    gallery = EmbeddingSet(np.float32([[1, 0], [0, 1], [0, 3], [2, 2]]), np.array([4, 7, 7, 9]), np.arange(4))
    anchors = Anchors.means(gallery)
    assert not anchors.learnt
    assert anchors.labels.tolist() == [4, 7, 9]
    assert anchors.vectors.tolist() == [[1, 0], [0, 2], [2, 2]]


def test_the_page_says_whose_anchors_and_shows_what_is_lost(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page("two_stage", run="recall", split="test", probes="2", query=str(embedded.items[3]))
    assert page.calm, page.words()
    assert "means of the classes of this gallery" in page.words()
    assert page.test.query_params["probes"] == "2"
    whole = Collection(None, embedded, embedded)
    cost = InvertedGallery(whole, Anchors.means(embedded)).cost(int(embedded.items[3]), 2, 24)
    shown = page.section("lost", "lost")["cards"]
    assert [card["rank"] for card in shown] == (cost.lost + 1).tolist()
    metrics = {one.label: one.value for one in page.test.metric}
    assert metrics["Comparisons"] == f"{int(cost.fast.comparisons[0]):,}"
    assert metrics["True matches"] == f"{int(cost.brute.num_positives[0]) - len(cost.lost_matches)} in reach"
    count = len(np.unique(embedded.labels))
    page.test.select_slider(key="probes").set_value(count).run()
    assert page.calm, page.words()
    assert page.section("lost", "lost")["cards"] == []
    assert "None: all of the nearest 24" in page.section("lost", "lost")["empty"]
    page.pick("found", "found", page.section("found", "found")["cards"][1]["id"])
    assert page.calm and page.test.query_params["probes"] == str(count)


def test_learnt_anchors_are_used_and_losers_offered(runs, open_page):
    run = lab.runs.open(runs / "recall")
    stored = tensors(run.path / "embeddings" / "test.safetensors")
    anchors = stored["query.vectors"][::3].copy()  # images of this split in their place spread the others out
    kept = {"anchors": anchors, "anchor_labels": np.arange(len(anchors))}
    Writer(lab.runs.open(shutil.copytree(run.path, runs / "anchored"))).arrays("embeddings", "test", stored | kept)
    page = open_page("two_stage", run="anchored", split="test")
    assert page.calm, page.words()
    assert f"{len(anchors):,} anchors, learnt by this run" in page.words()
    page.test.radio(key="raced").set_value("lost").run()
    strip = page.section("raced candidates", "candidates")
    counts = [int(card["value"].split()[0]) for card in strip["cards"]]
    assert counts and counts == sorted(counts, reverse=True)
    page.pick("raced candidates", "candidates", strip["cards"][0]["id"])
    assert len(page.section("lost", "lost")["cards"]) == counts[0]


def test_choices_are_in_the_address(runs, open_page):
    page = open_page("two_stage", run="recall")
    assert set(page.test.query_params) == {"run", "query"}, "what stands at its default stays out"
    page.test.radio(key="raced").set_value("lost").run()
    page.test.slider(key="first").set_value(7).run()
    page.test.select_slider(key="probes").set_value(2).run()
    page.test.get("button_group")[0].set_value("validation").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert other.test.query_params["split"] == "validation" and other.test.query_params["first"] == "7"
    assert other.section("raced candidates", "candidates") == page.section("raced candidates", "candidates")
    assert other.section("lost", "lost") == page.section("lost", "lost")
    page.test.radio(key="raced").set_value("class").run()
    page.test.selectbox(key="class").set_value(page.test.selectbox(key="class").options[3]).run()
    strip = page.section("raced candidates", "candidates")
    assert page.again().section("raced candidates", "candidates")["cards"] == strip["cards"] != []


@pytest.mark.parametrize("bad", ["0", "x", "[" * 5_000])
def test_a_bad_address_falls_back(runs, open_page, bad):
    page = open_page("two_stage", run="recall", split=bad, probes=bad, first=bad, queries=bad, query=bad)
    assert page.calm, page.words()
    assert set(page.test.query_params) == {"run", "query"}
    assert page.test.slider(key="first").value == 24
