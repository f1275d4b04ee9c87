"""How much an approximate search finds of what the exact one does."""

from __future__ import annotations

import numpy as np

from lab.core.results import EmbeddingSet
from lab.search._base import Index
from lab.search.streamed import Streamed


def recall(index: Index, gallery: EmbeddingSet, k: int = 10, queries: int = 50, seed: int = 0) -> float:
    """Share of the k nearest items, by exact search, that the index finds; mean over some rows of the gallery.

    The gallery is read once, whatever its size. From 0 to 1. Each row finds itself, which is not counted.

    Example:
        >>> import lab, numpy as np
        >>> from lab.core.results import EmbeddingSet
        >>> angles = np.arange(6) ** 2 / 20
        >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        >>> gallery = EmbeddingSet(vectors, labels=np.arange(6), items=np.arange(6))
        >>> recall(lab.search.create("faiss_flat").build(gallery), gallery, k=2)
        1.0
    """
    random = np.random.default_rng(seed)
    rows = np.sort(random.choice(len(gallery), min(queries, len(gallery)), replace=False))
    vectors, k = np.asarray(gallery.vectors[rows]), min(k, len(gallery) - 1)
    if not k:
        return 1.0
    exact = Streamed(similarity=index.knobs.similarity).build(gallery).neighbours(vectors, k + 1)[1]
    found = index.neighbours(vectors, k + 1)[1]
    wanted = [row[row != own][:k] for row, own in zip(exact, rows, strict=True)]
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(wanted, found, strict=True)]))
