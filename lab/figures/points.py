"""Small sets of points that a person can draw, and the metrics of such a set by Euclidean distance."""

import math
from collections.abc import Iterable

import numpy as np

from lab.metrics import PositiveRanks


def uniform(seed: int, *shape: int) -> np.ndarray:
    """Numbers in [0, 1) that depend on the seed alone, in a page too: `random.js` of the playground draws the same."""
    state = np.arange(1, math.prod(shape) + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5) + np.uint32(seed)
    state = (state ^ state >> 15) * (state | 1)
    state ^= state + (state ^ state >> 7) * (state | 61)
    return (state ^ state >> 14).reshape(shape) / 2**32


def normal(pairs: np.ndarray) -> np.ndarray:
    """Normal numbers [...] of `uniform` ones [... 2], by Box and Muller."""
    return np.sqrt(-2 * np.log(1 - pairs[..., 0])) * np.cos(2 * np.pi * pairs[..., 1])


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[n m] from [n d] and [m d]."""
    return np.maximum(0, (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T)


def _by_list(hits: np.ndarray, missing: int = 0) -> dict[str, np.ndarray]:
    """The metrics of `list_metrics`, float64 [q] each, of lists bool [q g]."""
    ranks = PositiveRanks.of_lists(hits, missing)
    within = ranks.rank <= ranks.total[ranks.owner]
    return {
        "r@1": np.where(ranks.total > 0, hits[:, 0], np.nan),
        "R-precision": ranks.share(ranks.sum(within), ranks.total),
        "MAP@R": ranks.share(ranks.sum(within * ranks.precision), ranks.total),
        "AP": ranks.average_precision,
    }


def list_metrics(hits: np.ndarray, missing: int = 0) -> dict[str, float]:
    """Metrics of one ranked list of relevances, bool [g]: r@1, R-precision, MAP@R, AP; NaN without a hit.

    missing: how many positives the list lacks.
    """
    return {name: float(values[0]) for name, values in _by_list(hits[None], missing).items()}


def ranked(scores: np.ndarray) -> np.ndarray:
    """int64 [n n-1]: the other items by score, best first, from the scores [n n] of a set in itself."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :-1]


def mean_metrics(order: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Means of `list_metrics` over ranked lists int64 [n g], of the queries that have a positive."""
    each = _by_list(labels[order] == labels[:, None])
    return {name: float(np.nanmean(values)) for name, values in each.items()}


def set_metrics(points: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Those of a set in itself."""
    return mean_metrics(ranked(-squared_distances(points, points)), labels)


def letters(labels: Iterable[int]) -> list[str]:
    """A, B, C ... for class numbers."""
    return [chr(ord("A") + int(label) % 26) for label in labels]
