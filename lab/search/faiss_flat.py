"""Exact search by faiss: its flat index."""

from __future__ import annotations

import numpy as np

from lab.search._base import IndexKnobs
from lab.search._faiss import FaissIndex


class FaissFlat(FaissIndex):
    """faiss compares every query with the whole gallery and returns the first neighbours.

    Scores are those of `exact`, and so are the neighbours but for scores that are equal, or equal to float32's last
    digits: those faiss may put in another order, and so cut another one off. Positives far down the list have no rank.
    """

    class Knobs(IndexKnobs):
        """Only what every index has."""

    def _make(self, rows: np.ndarray):
        index = self._flat(rows.shape[1])
        index.add(rows)
        return index

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), len(self.gallery))
