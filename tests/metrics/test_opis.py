"""OPIS against plain loops over pairs, thresholds and classes, in float64."""

import math

import numpy as np
import pytest

from lab import metrics
from lab.core.results import EmbeddingSet, Evidence
from lab.kernels import pair_counts
from lab.kernels.pair_counts import count_pairs


def similarity_of(a, b, kind):
    """As a search tells it: computed in float64, told in float32."""
    products = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    if kind == "cosine":
        return float(np.float32(products))
    squares = sum(float(x) ** 2 for x in b)
    return float(np.float32(np.float32(2 * products - squares) - sum(float(x) ** 2 for x in a)))


def plain_opis(query, gallery, labels, gallery_labels, same_source, thresholds, kind, low, high):
    """The definition, word by word."""
    pairs = [
        (i, similarity_of(query[i], gallery[j], kind), labels[i] == gallery_labels[j])
        for i in range(len(query))
        for j in range(len(gallery))
        if not (same_source and i == j)
    ]
    others = [s for _, s, same in pairs if not same]
    values = []
    for threshold in thresholds:
        if not low <= sum(s >= threshold for s in others) / len(others) <= high:
            continue
        of_classes = []
        for label in sorted(set(labels)):
            mine = [(s, same) for i, s, same in pairs if labels[i] == label]
            alike, apart = [s for s, same in mine if same], [s for s, same in mine if not same]
            if alike and apart:
                sensitivity = sum(s >= threshold for s in alike) / len(alike)
                specificity = sum(s < threshold for s in apart) / len(apart)
                both = sensitivity + specificity
                of_classes.append(2 * sensitivity * specificity / both if both else 0.0)
        mean = sum(of_classes) / len(of_classes)
        values += [(value - mean) ** 2 for value in of_classes]
    return sum(values) / len(values)


def vectors(n, seed, unit=True):
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows).astype(np.float32)


@pytest.mark.parametrize("kind", ["cosine", "euclidean"])
@pytest.mark.parametrize("gallery", [False, True])
def test_it_is_the_definition(kind, gallery, make_evidence, monkeypatch):
    monkeypatch.setattr(pair_counts, "CELLS", 90)  # tiles of a few rows
    labels = [3, 0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 1, 9]
    query, other_labels = vectors(13, 0, kind == "cosine"), [2, 0, 1, 1, 3, 3, 0, 0]
    other = vectors(8, 1, kind == "cosine") if gallery else query
    given = (other, other_labels) if gallery else ()
    evidence = make_evidence(query, labels, *given, similarity=kind)
    found = metrics.create("opis", low=0.05, high=0.4)(evidence)
    thresholds = pair_counts._thresholds(query, other, kind)
    facts = (labels, other_labels if gallery else labels, not gallery, thresholds, kind, 0.05, 0.4)
    assert found.values["OPIS"] == pytest.approx(plain_opis(query, other, *facts), rel=1e-12)
    assert found.excluded == (1 if gallery else 2)


def test_thresholds_are_evenly_spaced_in_the_distance_and_reach_every_pair():
    for kind, rows in (("cosine", vectors(9, 2)), ("euclidean", 5 + vectors(9, 2, unit=False))):
        thresholds = pair_counts._thresholds(rows, rows, kind)
        distances = (
            np.sqrt(2 - 2 * thresholds[1:]) if kind == "cosine" else np.sqrt(-thresholds[1:])
        )
        assert np.ptp(np.diff(distances[:-20])) < 1e-4 and (np.diff(thresholds) > 0).all()
        images = EmbeddingSet(rows, np.arange(9) // 3, np.arange(9))
        counts = count_pairs(images, images, kind, np.arange(9), np.arange(9))
        assert (counts.same[:, 0] == 2).all() and (counts.other[:, 0] == 6).all()
        assert (counts.same[:, 1] == 2).all() and (counts.other[:, 1] == 6).all()


def test_equal_classes_agree_and_a_scattered_one_is_told(make_evidence):
    angles = np.deg2rad([0, 10, 90, 100, 180, 190, 270, 280])
    points = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    even = metrics.create("opis", high=0.5)(make_evidence(points, [0, 0, 1, 1, 2, 2, 3, 3]))
    assert even.values["OPIS"] == pytest.approx(0, abs=1e-12)
    uneven = metrics.create("opis", high=0.5)(make_evidence(points, [0, 3, 1, 1, 2, 2, 3, 0]))
    assert uneven.values["OPIS"] > 0.1


@pytest.mark.parametrize("case", ["equal", "singletons", "one class"])
def test_nothing_to_compare_is_nan(case, make_evidence):
    points = np.ones((6, 2), np.float32) / math.sqrt(2) if case == "equal" else vectors(6, 3)
    labels = {"equal": [0, 0, 0, 1, 1, 1], "singletons": range(6), "one class": [0] * 6}[case]
    assert math.isnan(metrics.create("opis")(make_evidence(points, list(labels))).values["OPIS"])


def test_judged_images_and_a_turned_range_are_refused(make_random, make_evidence):
    with pytest.raises(ValueError, match="low must be at most high, 0.1, got 0.5"):
        metrics.create("opis", low=0.5)
    images = EmbeddingSet(vectors(6, 0), np.zeros(6, np.int64), np.arange(6))
    from dataclasses import replace

    evidence = make_evidence(images.vectors, [0, 0, 1, 1, 2, 2])
    graded = replace(
        evidence.ranking, positive_grades=np.zeros(len(evidence.ranking.positive_items), np.int8)
    )
    with pytest.raises(ValueError, match="leave it out"):
        metrics.create("opis")(Evidence(graded, evidence.query, evidence.gallery))
