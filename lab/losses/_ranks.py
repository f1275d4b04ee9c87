"""Ranks of the positives of a batch, as the losses over average precision and recall ask the kernels for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from lab.kernels import negative_rank_sums, positive_rank_sums, rank_and_hinge_sums, rank_sums
from lab.losses._base import mean_per_query
from lab.losses._batch import Batch
from lab.surrogates import Surrogate


class Excess(NamedTuple):
    """By how much a query's negatives exceed a margin in total, and how many do, [n] each."""

    total: Tensor
    violations: Tensor


@dataclass(frozen=True)
class Ranked:
    """The positives of a batch and the items that they are ranked with.

    pairs: int64 [p 2], query row and item row of every positive.
    """

    batch: Batch
    pairs: Tensor
    include_self: bool

    @property
    def owner(self) -> Tensor:
        """int64 [p], the query of each positive."""
        return self.pairs[:, 0]

    def above(self, step: Surrogate) -> Tensor:
        """Soft number of items above each positive, [p]."""
        return rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def positives_above(self, step: Surrogate) -> Tensor:
        """Soft number of the query's other positives above each positive, [p]."""
        return positive_rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def negatives_above(self, step: Surrogate) -> Tensor:
        """Soft number of negatives above each positive, [p]."""
        return negative_rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def negatives_above_and_excess(self, step: Surrogate, margin: float) -> tuple[Tensor, Excess]:
        """`negatives_above`, [p], and in the same walk by how much negatives exceed a margin."""
        sides = self.batch.sides
        above, total, violations = rank_and_hinge_sums(*sides, self.pairs, step, margin, self._exclude_self)
        n = len(self.batch)
        return above, Excess(total[:n], violations[:n])

    def mean(self, values: Tensor) -> Tensor:
        """Mean over each query's positives, [n] from [p]; NaN where it has none."""
        return mean_per_query(values, self.owner, len(self.batch))

    @property
    def _exclude_self(self) -> bool:
        return self.batch.self_ranked and not self.include_self


def ranked(batch: Batch, include_self: bool, self_is_positive: bool) -> Ranked:
    """The ranking of a batch: is the query among its ranked items, and if so is it a positive of its own?"""
    return Ranked(batch, batch.pairs(include_self and self_is_positive), include_self)
