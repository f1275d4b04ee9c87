import numpy as np
import pytest

from lab import search
from lab.core.results import EmbeddingSet


def embedded(vectors, labels):
    return EmbeddingSet(np.asarray(vectors), np.asarray(labels), np.arange(len(vectors)))


def points(n=40, d=6, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    vectors = rng.normal(size=(classes, d))[labels] + 0.8 * rng.normal(size=(n, d))
    return embedded(
        (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels
    )


def rank(query, gallery=None, k=500):
    same = gallery is None
    return search.create("exact", k=k).build(query if same else gallery).rank(query, same)


@pytest.fixture(scope="session")
def make_set():
    return points


@pytest.fixture(scope="session")
def make_ranking():
    return rank
