"""Base class of losses that compare a positive with a negative of the same query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from lab.kernels import Peak
from lab.losses._base import normalised
from lab.losses._batch import Batch
from lab.losses._pairs import PairLoss, distances

Triplets = tuple[Tensor, Tensor, Tensor]
"""Queries, positives and negatives, int64 [t] each."""

DRAWN_AT_ONCE = 1 << 22
"""Pairs of queries and items that a draw of triplets looks at together."""


class TripletLoss(PairLoss):
    """Base class of triplet losses; `triplets_per_anchor` triplets are drawn for each query, or all if it is None.

    A subclass defines `terms`, for every triplet of a query's pairs, and `terms_of_triplets`, for those that were drawn
    or mined.
    """

    peak = Peak(2, tiles=1.7)

    def drawn(self, batch: Batch) -> Triplets | None:
        """Return the triplets to compute on; None means every triplet of the pairs."""
        per_anchor = self.knobs.triplets_per_anchor
        return None if per_anchor is None else draw_triplets(batch, per_anchor)

    def terms_of_triplets(
        self, apart: Tensor, triplets: Triplets, rows: slice, batch: Batch
    ) -> tuple[Tensor, Tensor]:
        """Compute values and counts, [b t] each, from distances [b r]; queries of triplets count from the first row."""
        raise NotImplementedError

    def total(self, batch: Batch) -> Tensor:
        return super().total(self._with_drawn(batch))

    def values(self, batch: Batch) -> Tensor:
        return super().values(self._with_drawn(batch))

    def _with_drawn(self, batch: Batch) -> Batch:
        """Return the batch with the triplets that are drawn, unless a miner chose its pairs."""
        if batch.mined is not None:
            return batch
        return replace(batch, mined=self.drawn(normalised(batch)))

    def _of_rows(self, batch: Batch) -> Callable[[Tensor, slice], tuple[Tensor, Tensor]]:
        if batch.mined is None or len(batch.mined) == 4:
            return super()._of_rows(batch)
        queries, order = batch.mined[0].to(batch.queries.device).sort(stable=True)
        positives, negatives = (items.to(queries.device)[order] for items in batch.mined[1:])

        def of_rows(similarities: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            edges = torch.tensor([rows.start, rows.stop], device=queries.device)
            start, stop = torch.searchsorted(queries, edges).tolist()
            some = queries[start:stop] - rows.start, positives[start:stop], negatives[start:stop]
            return self.terms_of_triplets(distances(similarities, batch, rows), some, rows, batch)

        return of_rows


def every_triplet(batch: Batch) -> Triplets:
    """Return every triplet of a batch, or of the pairs that a miner chose for it."""
    if batch.mined is not None and len(batch.mined) == 3:
        return batch.mined[0], batch.mined[1], batch.mined[2]
    a, positive, b, negative = batch.every_pair() if batch.mined is None else batch.mined
    pair, other = torch.nonzero(a[:, None] == b, as_tuple=True)
    return a[pair], positive[pair], negative[other]


def draw_triplets(batch: Batch, per_anchor: int) -> Triplets:
    """Draw triplets evenly and with replacement, so many for each query that has a positive and a negative."""
    height = max(1, DRAWN_AT_ONCE // max(1, len(batch.items)))
    parts = []
    for start in range(0, len(batch), height):
        positives, ranked = batch.masks(
            slice(start, min(start + height, len(batch))), include_self=False
        )
        negatives = ranked & ~positives
        queries = torch.nonzero(positives.any(1) & negatives.any(1)).flatten()
        if not len(queries):
            continue
        positive = torch.multinomial(
            positives[queries].float(), per_anchor, replacement=True
        ).flatten()
        negative = torch.multinomial(
            negatives[queries].float(), per_anchor, replacement=True
        ).flatten()
        parts.append(
            torch.stack([(start + queries).repeat_interleave(per_anchor), positive, negative])
        )
    if not parts:
        none = torch.zeros(0, dtype=torch.int64, device=batch.queries.device)
        return none, none, none
    queries, positive, negative = torch.cat(parts, 1)
    return queries, positive, negative


def summed_by_query(values: Tensor, queries: Tensor, count: int) -> Tensor:
    """Add up the values, [t], of each of so many queries."""
    return values.new_zeros(count).index_add(0, queries, values)
