"""Exact search by faiss: its flat index."""

from __future__ import annotations

import numpy as np

from lab.core.results import EmbeddingSet
from lab.search._candidates import FaissIndex


class FaissFlat(FaissIndex):
    """faiss compares every query with the whole gallery and returns the first neighbours.

    Scores are those of `exact`, and so are the neighbours but for scores that are equal, or equal to float32's last
    digits: those faiss may put in another order, and so cut another one off. Positives far down the list have no rank.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("faiss_flat", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    compares_all = True

    def _make(self, gallery: EmbeddingSet) -> None:
        self.index = self._flat()
        self.index.add(self._all_rows())

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), len(self.rows))
