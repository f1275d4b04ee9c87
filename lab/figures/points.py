"""Small sets of points in the plane, and the metrics of such a set by Euclidean distance."""

import math
from collections.abc import Iterable

import numpy as np

from lab.metrics import PositiveRanks


def uniform(seed: int, *shape: int) -> np.ndarray:
    """Return numbers in [0, 1) that depend only on the seed. The playground's `random.js` draws the same in a page."""
    state = np.arange(1, math.prod(shape) + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5) + np.uint32(
        seed
    )
    state = (state ^ state >> 15) * (state | 1)
    state ^= state + (state ^ state >> 7) * (state | 61)
    return (state ^ state >> 14).reshape(shape) / 2**32


def normal(pairs: np.ndarray) -> np.ndarray:
    """Return normal numbers [...], given `uniform` numbers [... 2], by the method of Box and Muller."""
    radius = np.sqrt(-2 * np.log(1 - pairs[..., 0]))
    return radius * np.cos(2 * np.pi * pairs[..., 1])


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the squared distances [n m] between rows of [n d] and [m d]."""
    a_norms = (a**2).sum(1)
    b_norms = (b**2).sum(1)
    return np.maximum(0, a_norms[:, None] + b_norms[None, :] - 2 * a @ b.T)


def _metrics_by_list(hits: np.ndarray, missing: int = 0) -> dict[str, np.ndarray]:
    """Return the metrics of `list_metrics` of lists bool [q g], float64 [q] each."""
    ranks = PositiveRanks.of_lists(hits, missing)
    within = ranks.rank <= ranks.total[ranks.owner]
    return {
        "r@1": np.where(ranks.total > 0, hits[:, 0], np.nan),
        "R-precision": ranks.share(ranks.sum(within), ranks.total),
        "MAP@R": ranks.share(ranks.sum(within * ranks.precision), ranks.total),
        "AP": ranks.average_precision,
    }


def list_metrics(hits: np.ndarray, missing: int = 0) -> dict[str, float]:
    """Return the metrics of one ranked list of relevances, bool [g]: r@1, R-precision, MAP@R, AP; NaN without a hit.

    Args:
        missing: number of positives that are not in the list.
    """
    metrics = _metrics_by_list(hits[None], missing)
    return {name: float(values[0]) for name, values in metrics.items()}


def ranked(scores: np.ndarray) -> np.ndarray:
    """Return the other items by score, best first, int64 [n n-1], given the scores [n n] of a set in itself."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :-1]


def mean_metrics(order: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the means of `list_metrics` over ranked lists int64 [n g], over the queries that have a positive."""
    metrics = _metrics_by_list(labels[order] == labels[:, None])
    return {name: float(np.nanmean(values)) for name, values in metrics.items()}


def set_metrics(points: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the mean metrics of a set whose points are searched among each other."""
    return mean_metrics(ranked(-squared_distances(points, points)), labels)


def letters(labels: Iterable[int]) -> list[str]:
    """Return A, B, C ... for class numbers."""
    return [chr(ord("A") + int(label) % 26) for label in labels]
