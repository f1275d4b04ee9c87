"""Ranks of the positives of a batch, which the losses over average precision and recall compute by the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from lab.kernels import negative_rank_sums, positive_rank_sums, rank_and_hinge_sums, rank_sums
from lab.losses._base import mean_per_query
from lab.losses._batch import Batch
from lab.surrogates import Surrogate


class Excess(NamedTuple):
    """The negatives of each query that exceed a margin: the sum of their excesses and their number, [n] each."""

    total: Tensor
    violations: Tensor


@dataclass(frozen=True)
class Ranked:
    """The positives of a batch, ranked among the items.

    pairs: int64 [p 2], query row and item row of every positive.
    include_self: whether each query is among the items that it ranks.
    """

    batch: Batch
    pairs: Tensor
    include_self: bool

    @property
    def owner(self) -> Tensor:
        """int64 [p]: the query of each positive."""
        return self.pairs[:, 0]

    def above(self, step: Surrogate) -> Tensor:
        """Count softly the items above each positive, [p]."""
        return rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def positives_above(self, step: Surrogate) -> Tensor:
        """Count softly the query's other positives above each positive, [p]."""
        return positive_rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def negatives_above(self, step: Surrogate) -> Tensor:
        """Count softly the negatives above each positive, [p]."""
        return negative_rank_sums(*self.batch.sides, self.pairs, step, self._exclude_self)

    def negatives_above_and_excess(self, step: Surrogate, margin: float) -> tuple[Tensor, Excess]:
        """Return `negatives_above`, [p], and the excess of the negatives over a margin, from one pass."""
        above, total, violations = rank_and_hinge_sums(
            *self.batch.sides, self.pairs, step, margin, self._exclude_self
        )
        n = len(self.batch)
        return above, Excess(total[:n], violations[:n])

    def mean(self, values: Tensor) -> Tensor:
        """Average over each query's positives, [n] from [p]; NaN for a query without positives."""
        return mean_per_query(values, self.owner, len(self.batch))

    @property
    def _exclude_self(self) -> bool:
        return self.batch.self_ranked and not self.include_self


def ranked(batch: Batch, include_self: bool, self_is_positive: bool) -> Ranked:
    """Rank the positives of a batch.

    include_self: the query is among the items that it ranks. self_is_positive: then it also counts as its own positive.
    """
    return Ranked(batch, batch.pairs(include_self and self_is_positive), include_self)
