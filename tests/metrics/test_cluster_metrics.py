"""Metrics that cluster the embeddings."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import metrics
from lab.metrics.clusters_f1 import pair_f1


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3)), min_size=2, max_size=12))
def test_f1_counts_pairs(pairs):
    labels, found = (np.array(column) for column in zip(*pairs, strict=True))
    both = sum(
        labels[i] == labels[j] and found[i] == found[j]
        for i, j in combinations(range(len(labels)), 2)
    )
    in_cluster = sum(found[i] == found[j] for i, j in combinations(range(len(labels)), 2))
    in_class = sum(labels[i] == labels[j] for i, j in combinations(range(len(labels)), 2))
    if not in_cluster + in_class:
        assert np.isnan(pair_f1(labels, found))
        return
    precision = both / in_cluster if in_cluster else 0
    recall = both / in_class if in_class else 0
    expected = 2 * precision * recall / (precision + recall) if both else 0
    assert pair_f1(labels, found) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["nmi", "ami", "clusters_f1"])
def test_clear_clusters_are_found(name, make_evidence):
    points = np.repeat(np.eye(3), 5, axis=0) + np.random.default_rng(0).normal(size=(15, 3)) / 50
    (value,) = metrics.create(name)(
        make_evidence(points.astype(np.float32), np.repeat([7, 1, 4], 5))
    ).values.values()
    assert value == pytest.approx(1)
