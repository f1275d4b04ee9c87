"""Exact search by faiss: its flat index."""

from __future__ import annotations

import numpy as np

from lab.search._base import IndexKnobs
from lab.search._faiss import FaissIndex


class FaissFlat(FaissIndex):
    """faiss compares every query with the whole gallery and returns the first neighbours.

    The neighbours are those of `exact`; positives far down the list have no rank.
    """

    class Knobs(IndexKnobs):
        """Only what every index has."""

    def _make(self, rows: np.ndarray):
        index = self._flat(rows.shape[1])
        index.add(rows)
        return index

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), len(self.gallery))
