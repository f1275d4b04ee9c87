"""The true metrics of a batch, with the tie rule that the papers' bounds speak about: H(0) = 1, a tie counts against.

`lab.metrics` measures finished rankings, where ties are broken by position. A bound on a loss has to be checked
against the formula it was stated for, so these follow 000 (eq. 1-3) and 001 (eq. 1, 3) to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.metrics import PositiveRanks


@dataclass(frozen=True)
class Positives:
    """Every (query, positive) of a batch and who stands ahead of it.

    queries, items: int64 [p].
    ahead: bool [p n], item z counts in the rank of this positive: H(s_qz - s_qp), z != p.
    relevant: bool [p n], item z is a positive of the query.
    """

    queries: np.ndarray
    items: np.ndarray
    ahead: np.ndarray
    relevant: np.ndarray

    @classmethod
    def of(cls, similarities: np.ndarray, labels: np.ndarray, self_ranked: bool, self_positive: bool) -> Positives:
        """From similarities [n n] and labels [n]; whether the query itself is ranked, and is its own positive."""
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
        """float64 [n]: mean of rank+ / rank over the positives of each of n queries (001, eq. 1 and 3)."""
        rank, place = 1 + self.ahead.sum(axis=1), 1 + (self.ahead & self.relevant).sum(axis=1)
        return PositiveRanks(self.queries, rank, place, np.bincount(self.queries, minlength=n)).average_precision


def average_precision(similarities: np.ndarray, labels: np.ndarray, include_self: bool = False) -> np.ndarray:
    """float64 [n]: AP of every query (001, eq. 1); NaN for a query that has no positive but itself."""
    positives = Positives.of(similarities, labels, include_self, include_self)
    repeated = (labels[:, None] == labels[None, :]).sum(axis=1) > 1
    return np.where(repeated, positives.average_precision(len(labels)), np.nan)


def recall_at_k(similarities: np.ndarray, labels: np.ndarray, k: int, include_self: bool = False) -> np.ndarray:
    """float64 [n]: positives ranked within k over min(k, |P|) (000, eq. 1, as trained); NaN without positives."""
    positives = Positives.of(similarities, labels, include_self, self_positive=False)
    within = 1 + positives.ahead.sum(axis=1) <= k
    n = len(labels)
    hits = np.bincount(positives.queries, weights=within, minlength=n)
    total = np.bincount(positives.queries, minlength=n)
    return np.where(total, np.minimum(hits, k) / np.maximum(1, np.minimum(k, total)), np.nan)


def tied(similarities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """bool [n]: queries for which some positive and some negative have exactly equal similarity."""
    same = labels[:, None] == labels[None, :]
    ties = np.zeros(len(labels), dtype=bool)
    for q, row in enumerate(same):
        mine = row.copy()
        mine[q] = False
        ties[q] = np.isin(similarities[q, mine], similarities[q, ~row]).any()
    return ties
