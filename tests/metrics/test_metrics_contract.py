"""What holds for every metric that the catalogue finds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import metrics
from lab.core.results import Classifier

ANCHORS = np.eye(9, 6, dtype=np.float32) + 0.1


def evidence(make_random, **more):
    classifier = Classifier(ANCHORS, np.zeros(9, np.float32), np.arange(9))
    return make_random(anchors=ANCHORS, anchor_labels=np.arange(9), classifier=classifier, **more)


@pytest.mark.parametrize("name", metrics.names())
def test_facts_and_values(name, make_random):
    metric, shown = metrics.create(name), evidence(make_random)
    assert metric.needs in ("ranking", "embeddings", "anchors", "classifier", "levels")
    assert metric.higher_is_better is (name not in ("decomposability_gap", "opis")), (
        "these two alone are errors"
    )
    low, high = metric.bounds
    found = metric(shown)
    assert found.values and all(
        math.isfinite(v) and low <= v <= high for v in found.values.values()
    )
    for column, values in found.per_query.items():
        assert values.shape == (len(shown.ranking),) and values.dtype == np.float64
        assert found.values[column] == pytest.approx(np.nanmean(values))
        assert found.excluded == np.isnan(values).sum()


@pytest.mark.parametrize("name", [n for n in metrics.names() if metrics.get(n).needs == "ranking"])
def test_perfect_and_worst_rankings_reach_the_bounds(name, make_ranking, make_evidence):
    angles = np.deg2rad([0, 1, 2, 90, 91, 92])
    points = np.stack([np.cos(angles), np.sin(angles)], 1)
    knobs = {"k": (2,)} if "k" in metrics.get(name).Knobs.model_fields else {}
    perfect = metrics.create(name, **knobs)(make_evidence(points, [0, 0, 0, 1, 1, 1]))
    assert list(perfect.values.values()) == [1.0]
    mixed = metrics.create(name, **knobs)(make_evidence(points, [0, 1, 0, 1, 0, 1]))
    assert list(mixed.values.values())[0] < 1


@pytest.mark.parametrize("name", [n for n in metrics.names() if metrics.get(n).needs == "ranking"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.integers(4, 30))
def test_order_of_images_and_names_of_classes_do_not_matter(
    name, seed, size, make_ranking, make_evidence
):
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(size, 3)), rng.integers(0, 4, size)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    first = metrics.create(name)(make_evidence(points, labels))
    order, renamed = rng.permutation(size), np.array([70, -3, 12, 5])[labels]
    second = metrics.create(name)(make_evidence(points[order], renamed[order]))
    for column, value in first.values.items():
        assert second.values[column] == pytest.approx(value, nan_ok=True)
        np.testing.assert_allclose(second.per_query[column], first.per_query[column][order])
    assert first.excluded == second.excluded
