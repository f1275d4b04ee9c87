import numpy as np
import pytest

from lab.core.results import EmbeddingSet


def embeddings(n=80, d=8, classes=9, seed=0, labels=None, scale=0.6):
    """Unit rows scattered about one centre a class; `anchors` [c d] are the centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(classes, d))
    labels = rng.integers(0, classes, n) if labels is None else np.asarray(labels)
    vectors = centres[labels] + scale * rng.normal(size=(n, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddingSet(vectors.astype(np.float32), labels, np.arange(n))


def centres(d=8, classes=9):
    return np.random.default_rng(99).normal(size=(classes, d)).astype(np.float32)


@pytest.fixture(scope="session")
def make_set():
    return embeddings


@pytest.fixture(scope="session")
def anchors():
    return centres()
