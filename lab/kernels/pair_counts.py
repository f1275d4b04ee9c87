"""How many pairs of one class, and of two, are at least so similar: counted tile by tile, no [q g] matrix is kept.

Similarities are those of a search: float64 dot products rounded to float32, so that a pair counts here exactly where a
search would show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lab.core.results import EmbeddingSet
from lab.kernels.sort_keys import Space

STEPS = 1_000
"""Steps of the thresholds: of a distance of 0.002 between unit vectors."""

CELLS = 1_000_000
"""Similarities held at once: 4 MB, and eight times that while they are counted."""


@dataclass(frozen=True)
class PairCounts:
    """Pairs of r groups of queries with the items of a gallery.

    thresholds: float64 [t], ascending similarities: cosine, or minus the squared distance. Their distances are evenly
        spaced, so that they are closest where pairs are alike.
    same, other: int64 [r t], pairs of one class and of two whose similarity is at least the threshold; the first
        threshold lies below every pair, so that its column counts all of them.
    """

    thresholds: np.ndarray
    same: np.ndarray
    other: np.ndarray

    @property
    def far(self) -> np.ndarray:
        """float64 [t]: false accept rate, the share of all pairs of two classes that a threshold lets through."""
        return _share(self.other.sum(0))

    @property
    def frr(self) -> np.ndarray:
        """float64 [t]: false reject rate, the share of all pairs of one class that a threshold keeps out."""
        return 1 - _share(self.same.sum(0))


def _share(counts: np.ndarray) -> np.ndarray:
    return counts / counts[0] if counts[0] else np.full(len(counts), np.nan)


def count_pairs(
    query: EmbeddingSet,
    gallery: EmbeddingSet,
    similarity: str,
    self_index: np.ndarray,
    groups: np.ndarray,
) -> PairCounts:
    """Compare every query with every item but itself. Time O(q g d), memory O(r t) and one tile.

    Args:
        self_index: int64 [q], each query's own place in the gallery, -1 where it is not there.
        groups: int64 [q], 0 <= group < r, in which row of the counts a query is counted: its class, or it alone.

    Raises:
        ValueError: a vector has no length, so that its cosine is undefined.
    """
    space = Space.of(gallery.vectors, similarity, torch.device("cpu"))
    items = space.items.double()
    labels = np.asarray(gallery.labels)
    asked = np.asarray(query.labels)
    thresholds = _thresholds(query.vectors, gallery.vectors, similarity)
    edges = thresholds.astype(np.float32)
    width = len(thresholds) + 1
    counts = np.zeros((int(groups.max()) + 1, 2, width), np.int64)
    order = np.argsort(groups, kind="stable")
    rows_at_once = max(1, CELLS // len(gallery))
    for start in range(0, len(order), rows_at_once):
        rows = order[start : start + rows_at_once]
        first = groups[rows[0]]
        seen = int(groups[rows[-1]] - groups[rows[0]]) + 1
        scores = space.shown(space.block_scores(space.queries(query.vectors[rows]), items).numpy())
        other = asked[rows][:, None] != labels
        cells = np.searchsorted(edges, scores, side="right")
        cells += width * (2 * (groups[rows] - first)[:, None] + other)
        own = np.flatnonzero(self_index[rows] >= 0)
        cells[own, self_index[rows[own]]] = seen * 2 * width  # one more, which nobody reads
        counted = np.bincount(cells.ravel(), minlength=seen * 2 * width + 1)[:-1]
        counts[first : first + seen] += counted.reshape(seen, 2, width)
    at_least = np.cumsum(counts[:, :, :0:-1], axis=2)[:, :, ::-1]
    return PairCounts(thresholds, at_least[:, 0], at_least[:, 1])


def _thresholds(query: np.ndarray, gallery: np.ndarray, similarity: str) -> np.ndarray:
    """float64 [t], below every similarity first; see `PairCounts`. Rounded to float32, as the similarities are."""
    reach = 2.0
    if similarity != "cosine":
        # no two points are further apart than both are from here
        middle = gallery.mean(0, dtype=np.float64)
        reach = float(
            sum(np.sqrt(np.square(rows - middle).sum(1).max()) for rows in (query, gallery))
        )
    distances = np.linspace(reach, 0, STEPS + 1)
    distances[-1] = 0.7 * reach / STEPS  # which equal vectors have by rounding
    squares = np.square(distances)
    values = 1 - squares / 2 if similarity == "cosine" else -squares
    return np.concatenate([[-np.inf], values]).astype(np.float32).astype(np.float64)
