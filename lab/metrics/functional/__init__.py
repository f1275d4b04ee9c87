"""Ranking metrics as plain functions of scores and relevance, one value per query.

Every function takes `scores`, float [q g], higher is better, and `relevant`, bool [q g], and returns float64 [q]. A
query without relevant items gets NaN: exclude it from the mean (`numpy.nanmean`). Equal scores are ranked in the order
of their columns. The classes of `lab.metrics` compute the same values from a ranking.

An item with the score -inf is not in the list. If it is relevant, it counts as a positive that was not retrieved. To
leave a query out of its own list, set its score to -inf and its relevance to False.

Example:
    >>> import numpy as np
    >>> from lab.metrics import functional
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]])
    >>> relevant = np.array([[True, False, True], [True, False, False]])
    >>> functional.average_precision(scores, relevant).round(3)  # ranks 1 and 3; rank 3
    array([0.833, 0.333])
"""

from __future__ import annotations

import numpy as np

from lab.core.results import UNRANKED
from lab.metrics._base import PositiveRanks
from lab.metrics.hit_rate_at_k import hit_rate
from lab.metrics.map_at_r import precision_sum_at_r
from lab.metrics.mean_reciprocal_rank import reciprocal_rank as _reciprocal_rank
from lab.metrics.precision_at_k import precision
from lab.metrics.r_precision import precision_at_r
from lab.metrics.recall_at_k import recall
from lab.metrics.revisited_map import trapezoid_average_precision as _trapezoid_average_precision

__all__ = [
    "average_precision",
    "average_precision_at_r",
    "hit_rate_at_k",
    "precision_at_k",
    "r_precision",
    "recall_at_k",
    "reciprocal_rank",
    "trapezoid_average_precision",
]


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Compute the mean of the precisions at the relevant items, float64 [q]; the class is `MeanAveragePrecision`."""
    return _ranks(scores, relevant).average_precision


def average_precision_at_r(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Compute AP over the first R items, where R is the number of relevant ones, float64 [q]; the class is `MapAtR`."""
    return precision_sum_at_r(_ranks(scores, relevant))


def hit_rate_at_k(scores: np.ndarray, relevant: np.ndarray, k: int) -> np.ndarray:
    """Return 1 if a relevant item is among the first k, else 0, float64 [q]; the class is `HitRateAtK`."""
    return hit_rate(_ranks(scores, relevant), _cut_off(k))


def precision_at_k(scores: np.ndarray, relevant: np.ndarray, k: int) -> np.ndarray:
    """Compute the share of the first k places with relevant items, float64 [q]; the class is `PrecisionAtK`."""
    return precision(_ranks(scores, relevant), _cut_off(k))


def r_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Compute the precision of the first R items, R being the number of relevant ones; the class is `RPrecision`."""
    return precision_at_r(_ranks(scores, relevant))


def recall_at_k(scores: np.ndarray, relevant: np.ndarray, k: int) -> np.ndarray:
    """Compute the share of the relevant items among the first k, float64 [q]; the class is `RecallAtK`."""
    return recall(_ranks(scores, relevant), _cut_off(k))


def reciprocal_rank(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Compute 1 / rank of the first relevant item, float64 [q]; the class is `MeanReciprocalRank`."""
    return _reciprocal_rank(_ranks(scores, relevant))


def trapezoid_average_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Compute the area under the precision-recall curve by trapezoids, float64 [q]; the class is `RevisitedMap`.

    Remove junk items from the list by the score -inf and relevance False.
    """
    return _trapezoid_average_precision(_ranks(scores, relevant))


def _ranks(scores: np.ndarray, relevant: np.ndarray) -> PositiveRanks:
    """Validate scores and relevance, sort every row, and return the ranks of the relevant items."""
    scores = np.asarray(scores)
    relevant = np.asarray(relevant)
    if scores.ndim != 2 or scores.shape != relevant.shape:
        raise ValueError(
            f"scores and relevant must have one shape [q g], a row per query, got {list(scores.shape)} and "
            f"{list(relevant.shape)}."
        )
    if relevant.dtype != np.bool_:
        raise ValueError(
            f"relevant must be boolean, got {relevant.dtype}; write for instance relevant > 0."
        )
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores).any(axis=1))[0])
        raise ValueError(
            f"scores must be numbers, but row {row} holds NaN; use -inf for an item that is not listed."
        )

    # Sort in descending order; reversing twice keeps equal scores in the order of their columns.
    order = scores.shape[1] - 1 - np.argsort(scores[:, ::-1], axis=1, kind="stable")[:, ::-1]
    listed = np.take_along_axis(scores, order, axis=1) > -np.inf
    in_order = np.take_along_axis(relevant, order, axis=1)

    ranks = PositiveRanks.of_lists(in_order)
    retrieved = listed[ranks.owner, ranks.rank - 1]
    return PositiveRanks(
        ranks.owner, np.where(retrieved, ranks.rank, UNRANKED), ranks.place, ranks.total
    )


def _cut_off(k: int) -> int:
    """Validate the length k of the list."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    return k
