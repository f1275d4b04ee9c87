"""Small sets of points that a person can draw, and the metrics of such a set by Euclidean distance."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lab.metrics import PositiveRanks


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[n m] from [n d] and [m d]."""
    return np.maximum(0, (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T)


def list_metrics(hits: np.ndarray, missing: int = 0) -> dict[str, float]:
    """Metrics of one ranked list of relevances, bool [g]: r@1, R-precision, MAP@R, AP; NaN without a hit.

    missing: how many positives the list lacks.
    """
    total = int(hits.sum()) + missing
    if not total:
        return dict.fromkeys(("r@1", "R-precision", "MAP@R", "AP"), float("nan"))
    ranks = PositiveRanks.of_lists(hits[None], missing)
    within = ranks.rank <= total
    return {
        "r@1": float(hits[0]),
        "R-precision": float(within.sum() / total),
        "MAP@R": float(ranks.precision[within].sum() / total),
        "AP": float(ranks.average_precision[0]),
    }


def ranked(scores: np.ndarray) -> np.ndarray:
    """int64 [n n-1]: the other items by score, best first, from the scores [n n] of a set in itself."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :-1]


def mean_metrics(order: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Means of `list_metrics` over ranked lists int64 [n g]."""
    each = [list_metrics(labels[row] == label) for row, label in zip(order, labels, strict=True)]
    return {name: float(np.mean([metrics[name] for metrics in each])) for name in each[0]}


def set_metrics(points: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Means of `list_metrics` over the queries that have a positive."""
    distance = squared_distances(points, points)
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :-1]  # a query itself is the last
    each = [list_metrics(row) for row in labels[order] == labels[:, None]]
    return {name: float(np.nanmean([m[name] for m in each])) for name in each[0]}


def letters(labels: Iterable[int]) -> list[str]:
    """A, B, C ... for class numbers."""
    return [chr(ord("A") + int(label) % 26) for label in labels]
