"""Ranks of the positives of a batch, as the losses over average precision and recall ask the kernels for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lab.kernels import rank_sums, rank_sums_against, rank_sums_among
from lab.losses._base import mean_per_query
from lab.losses._batch import Batch
from lab.surrogates import Surrogate


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
        return rank_sums(*self._sides(), self.pairs, step, self._exclude_self)

    def positives_above(self, step: Surrogate) -> Tensor:
        """Soft number of the query's other positives above each positive, [p]."""
        return rank_sums_among(*self._sides(), self.pairs, step, self._exclude_self)

    def negatives_above(self, step: Surrogate) -> Tensor:
        """Soft number of negatives above each positive, [p]."""
        return rank_sums_against(*self._sides(), self.pairs, step, self._exclude_self)

    def mean(self, values: Tensor) -> Tensor:
        """Mean over each query's positives, [n] from [p]; NaN where it has none."""
        return mean_per_query(values, self.owner, len(self.batch))

    @property
    def _exclude_self(self) -> bool:
        return self.batch.own and not self.include_self

    def _sides(self) -> tuple[Tensor, Tensor]:
        """Queries and items; as many rows on both sides where each query is an item, as the kernels ask."""
        batch = self.batch
        if batch.own and batch.items is not batch.queries:
            return torch.cat([batch.queries, batch.items[len(batch) :]]), batch.items
        return batch.queries, batch.items


def ranked(batch: Batch, include_self: bool, self_is_positive: bool) -> Ranked:
    """The ranking of a batch: is the query among its ranked items, and if so is it a positive of its own?"""
    pairs = torch.nonzero(batch.positives(include_self and self_is_positive))
    return Ranked(batch, pairs, include_self)
