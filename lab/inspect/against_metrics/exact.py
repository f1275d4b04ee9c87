"""Exact metrics of a batch, with the tie rule of the papers' bounds: H(0) = 1, so a tie counts as an error.

`lab.metrics` measures finished rankings, where ties are broken by position. A bound on a loss has to be checked
against the formula it was stated for, so these functions follow 000 (eq. 1-3) and 001 (eq. 1, 3) exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.metrics import PositiveRanks


@dataclass(frozen=True)
class Positives:
    """Every (query, positive) of a batch, with the items that are ranked ahead of the positive.

    queries, items: int64 [p].
    ahead: bool [p n], item z counts in the rank of this positive: H(s_qz - s_qp), z != p.
    relevant: bool [p n], item z is a positive of the query.
    """

    queries: np.ndarray
    items: np.ndarray
    ahead: np.ndarray
    relevant: np.ndarray

    @classmethod
    def of(
        cls, similarities: np.ndarray, labels: np.ndarray, self_ranked: bool, self_positive: bool
    ) -> Positives:
        """Find all pairs, given similarities [n n] and labels [n].

        Args:
            self_ranked: whether the query itself is in its list.
            self_positive: whether the query counts as its own positive.
        """
        same = labels[:, None] == labels[None, :]
        if not self_positive:
            np.fill_diagonal(same, False)
        queries, items = np.nonzero(same)
        ahead = similarities[queries] >= similarities[queries, items][:, None]
        rows = np.arange(len(queries))
        ahead[rows, items] = False
        if not self_ranked:
            ahead[rows, queries] = False
        return cls(queries, items, ahead, same[queries])

    def average_precision(self, n: int) -> np.ndarray:
        """Return the mean of rank+ / rank over the positives of each of n queries (001, eq. 1 and 3), float64 [n]."""
        rank = 1 + self.ahead.sum(axis=1)
        rank_among_positives = 1 + (self.ahead & self.relevant).sum(axis=1)
        positives_per_query = np.bincount(self.queries, minlength=n)
        return PositiveRanks(
            self.queries, rank, rank_among_positives, positives_per_query
        ).average_precision


def average_precision(
    similarities: np.ndarray, labels: np.ndarray, include_self: bool = False
) -> np.ndarray:
    """Return the AP of every query (001, eq. 1), float64 [n]; NaN for a query that has no positive but itself."""
    positives = Positives.of(similarities, labels, include_self, include_self)
    class_size = (labels[:, None] == labels[None, :]).sum(axis=1)
    return np.where(class_size > 1, positives.average_precision(len(labels)), np.nan)


def recall_at_k(
    similarities: np.ndarray, labels: np.ndarray, k: int, include_self: bool = False
) -> np.ndarray:
    """Return the share of positives within rank k, over min(k, |P|) (000, eq. 1, as trained), float64 [n]; NaN if none.

    Args:
        include_self: whether the query itself is in its list; it never counts as a positive.
    """
    positives = Positives.of(similarities, labels, include_self, self_positive=False)
    within_k = 1 + positives.ahead.sum(axis=1) <= k
    n = len(labels)
    hits = np.bincount(positives.queries, weights=within_k, minlength=n)
    total = np.bincount(positives.queries, minlength=n)
    most_hits = np.minimum(k, total)
    return np.where(total, np.minimum(hits, k) / np.maximum(1, most_hits), np.nan)


def has_ties(similarities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return, for each query, whether a positive and a negative have exactly equal similarity, bool [n]."""
    same = labels[:, None] == labels[None, :]
    ties = np.zeros(len(labels), dtype=bool)
    for query, same_label in enumerate(same):
        positive = same_label.copy()
        positive[query] = False
        ties[query] = np.isin(similarities[query, positive], similarities[query, ~same_label]).any()
    return ties
