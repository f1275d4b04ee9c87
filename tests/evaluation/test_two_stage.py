"""The costs of two-stage search, against plain loops over the embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from lab.core.results import EmbeddingSet
from lab.evaluation.collection import Collection
from lab.evaluation.two_stage import Anchors, InvertedGallery


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
    return InvertedGallery(
        Collection(None, embedded, embedded), Anchors(anchors, np.arange(9), learnt=True)
    )


def by_hand(inverted: InvertedGallery, row: int, probes: int) -> tuple[np.ndarray, set[int], int]:
    """The exact order of a query's neighbours, the positions it reaches, and its comparisons."""
    vectors = inverted.collection.gallery.vectors.astype(float)
    anchors = inverted.anchors.vectors / np.linalg.norm(
        inverted.anchors.vectors, axis=1, keepdims=True
    )
    home = (vectors @ anchors.T).argmax(1)
    opened = np.argsort(-(anchors @ vectors[row]))[:probes]
    order = np.argsort(-(vectors @ vectors[row]), kind="stable")
    reached = set(np.flatnonzero(np.isin(home, opened)).tolist())
    return order[order != row], reached, len(anchors) + len(reached)


@pytest.mark.parametrize("probes", [1, 3])
def test_a_cost_tells_what_is_lost(inverted, probes):
    for row in (0, 17, 44):
        cost = inverted.cost(row * 2, probes, k=10)
        order, reached, compared = by_hand(inverted, row, probes)
        assert cost.lost.tolist() == [
            rank for rank, one in enumerate(order[:10]) if one not in reached
        ]
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
        cost = inverted.cost(item, 2, 10)
        assert cost.brute.hits[0, cost.lost].sum() == count
    assert len(inverted.losers(9, k=10)[0]) == 0


def test_class_means_stand_in():
    gallery = EmbeddingSet(
        np.float32([[1, 0], [0, 1], [0, 3], [2, 2]]), np.array([4, 7, 7, 9]), np.arange(4)
    )
    anchors = Anchors.means(gallery)
    assert not anchors.learnt
    assert anchors.labels.tolist() == [4, 7, 9]
    assert anchors.vectors.tolist() == [[1, 0], [0, 2], [2, 2]]


def test_enough_anchors_are_the_fewest_that_find_a_share(inverted):
    items = inverted.collection.query.items[inverted.sample].tolist()
    missed = [
        sum(len(inverted.cost(item, probes, 10).lost) for item in items) for probes in range(1, 10)
    ]
    for share in (0.5, 0.95, 1.0):
        first = next(
            at for at, lost in enumerate(missed) if lost <= (1 - share) * 10 * len(items) + 1e-6
        )
        assert inverted.enough(10, share) == first + 1
