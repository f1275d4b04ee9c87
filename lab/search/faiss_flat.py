"""Exact search by faiss: its flat index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.search._faiss import FaissIndex

if TYPE_CHECKING:
    import faiss


class FaissFlat(FaissIndex):
    """faiss compares every query with the whole gallery and returns the first neighbours.

    Scores are those of `exact`, and so are the neighbours but for scores that are equal, or equal to float32's last
    digits: those faiss may put in another order, and so cut another one off. Positives far down the list have no rank.

    Example:
        >>> import lab, numpy as np
        >>> from lab.core.results import EmbeddingSet
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
        >>> gallery = EmbeddingSet(vectors, labels=np.array([0, 0, 1]), items=np.arange(3))
        >>> index = lab.search.create("faiss_flat", k=2).build(gallery)
        >>> scores, places = index.neighbours(np.array([[0.6, 0.8]], np.float32))
        >>> places, scores.round(2)
        (array([[1, 2]]), array([[0.96, 0.8 ]], dtype=float32))
    """

    def _make(self, rows: np.ndarray) -> faiss.Index:
        index = self._flat(rows.shape[1])
        index.add(rows)
        return index

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), len(self._built()))
