"""Confused classes, suspicious labels, duplicates and scores of classes, against plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import lab.search
from lab.core.results import EmbeddingSet
from lab.inspect import data_checks

K = 5


@pytest.fixture(scope="module")
def ranked():
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 6)
    # classes in pairs
    vectors = random.normal(size=(12, 8))[labels // 2] + 0.4 * random.normal(size=(72, 8))
    vectors[7] = vectors[30] + 1e-4
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    images = EmbeddingSet(vectors, labels, np.arange(72))
    return (
        lab.search.create("exact", k=20).build(images).rank(images, same_source=True),
        labels,
        vectors,
    )


def test_confusion_counts_wrong_neighbours(ranked):
    ranking, labels, _ = ranked
    expected = Counter()
    for row in range(72):
        for other in labels[ranking.neighbours[row, :K]]:
            if other != labels[row]:
                expected[int(labels[row]), int(other)] += 1
    found = data_checks.confusion(ranking, K)
    assert {
        (a, b): c
        for a, b, c in zip(
            found.label.tolist(), found.other.tolist(), found.count.tolist(), strict=True
        )
    } == expected
    assert (np.diff(found.share) <= 0).all()
    np.testing.assert_allclose(found.share, found.count / (6 * K))


def test_a_matrix_counts_what_the_pairs_count(ranked):
    ranking, labels, _ = ranked
    found = data_checks.confusion(ranking, K)
    worst = data_checks.worst_classes(found, 5)
    named = list(dict.fromkeys(np.stack([found.label, found.other], 1).ravel().tolist()))
    assert worst.tolist() == named[:5], "in the order of the worst pairs"
    matrix = data_checks.confusion_matrix(ranking, K, worst)
    assert matrix.looked.tolist() == [6 * K] * 5
    for row, label in enumerate(worst):
        near = Counter(labels[ranking.neighbours[labels == label, :K]].ravel().tolist())
        assert matrix.counts[row].tolist() == [near[int(other)] for other in worst]
    around = data_checks.worst_classes(found, 3, around=[int(named[-1])])
    assert around[0] == named[-1] and len(around) <= 3
    partners = set(found.label[found.other == named[-1]]) | set(
        found.other[found.label == named[-1]]
    )
    assert set(around[1:]) <= partners


def test_the_most_confused_query_of_a_pair(ranked):
    ranking, labels, _ = ranked
    found = data_checks.confusion(ranking, K)
    label, other = int(found.label[0]), int(found.other[0])
    row = data_checks.most_confused(ranking, K, label, other)
    wrong = (labels[ranking.neighbours[:, :K]] == other).sum(1)
    assert labels[row] == label and wrong[row] == wrong[labels == label].max()
    assert data_checks.most_confused(ranking, K, 99, other) is None


def test_scores_of_slices_have_intervals():
    values = np.array([0.0, 0.5, 1.0, 0.2, np.nan, 0.9])
    found = data_checks.slice_scores(values, np.array(["a", "a", "a", "b", "b", "c"]))
    assert found.names.tolist() == ["b", "a", "c"] and found.queries.tolist() == [1, 3, 1]
    np.testing.assert_allclose(found.mean, [0.2, 0.5, 0.9])
    assert np.isnan(found.low[[0, 2]]).all()
    assert found.low[1] == 0.0 and found.high[1] == 1.0, "0.5 ± 1.24, kept within 0 to 1"
