"""Made-up embeddings like those of a trained and of an untrained model."""

from __future__ import annotations

import numpy as np

from lab.core.results import EmbeddingSet

NOISE = {"trained": 2.0, "untrained": 8.0}
"""Length of the noise in units of a class centre's: the share of queries with a right first neighbour is about 97 % and
0.1 % at n = 16,000, d = 512 and five images a class."""


def embeddings(n: int, d: int, kind: str, per_class: int = 5, seed: int = 0) -> EmbeddingSet:
    """n unit rows, float32 [n d], scattered about one centre a class, in random order."""
    return around(centres(-(-n // per_class), d, seed), n, NOISE[kind], seed)


def centres(classes: int, d: int, seed: int) -> np.ndarray:
    """float32 [classes d], each entry normal."""
    return np.random.default_rng(seed).standard_normal((classes, d), dtype=np.float32)


def around(anchors: np.ndarray, n: int, noise: float, seed: int) -> EmbeddingSet:
    """n unit rows about anchors [c d], the same number for each of them but for a remainder."""
    rng = np.random.default_rng(seed + 1)
    labels = rng.permutation(np.arange(n) % len(anchors))
    vectors = rng.standard_normal((n, anchors.shape[1]), dtype=np.float32)
    vectors *= np.float32(noise)
    for start in range(0, n, 4096):  # in parts, so that a memory reading sees the embeddings and nothing else
        part = vectors[start : start + 4096]
        part += anchors[labels[start : start + 4096]]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return EmbeddingSet(vectors, labels, np.arange(n))
