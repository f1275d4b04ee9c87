"""Base class of losses that are sums over pairs: similarities are read a block of rows at a time, and none is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from lab.kernels.cpu.products import repeats, tie
from lab.kernels.memory import Peak
from lab.kernels.rowwise import by_rows, sums_of_rows
from lab.losses._base import Loss, normalised
from lab.losses._batch import Batch


@dataclass(frozen=True)
class Pairs:
    """The pairs of some queries of a batch.

    rows: the queries.
    positives, negatives: how often each pair counts, [b r]; bool, or whole numbers where a miner chose the pairs.
    """

    batch: Batch
    rows: slice
    positives: Tensor
    negatives: Tensor


class PairLoss(Loss):
    """Base class of losses that add up pairs; they take mined pairs and references.

    The loss is a sum of some terms, each a sum over pairs divided by a count. A subclass defines `terms`; `per_query`
    returns n times each query's share of the loss, so that its mean is the loss if every query has a positive. A query
    without a positive gets NaN, unless the loss needs no positives.
    """

    cosine = False  # rows get unit length here, after a wrapper may have mixed them
    takes_mined_pairs = True
    mean_of_queries = False
    peak = Peak(2, tiles=1.4)
    symmetric = False
    """Whether the slope by s_ij equals that by s_ji when a batch is compared with itself."""

    def sides(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the rows whose products `terms` gets, [n d] and [r d]; the same tensor if a batch ranks itself."""
        return batch.queries, batch.items

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Compute each query's values, [b t], and counts, [b t], from its similarities, [b r]."""
        raise NotImplementedError

    @property
    def by_blocks(self) -> bool:
        """Whether `terms` reads a block of rows at a time; otherwise the whole matrix, with every gradient of torch."""
        return True

    def total(self, batch: Batch) -> Tensor:
        batch = normalised(batch)
        if self.by_blocks:
            symmetric = self.symmetric and batch.mined is None
            sums, counts = sums_of_rows(
                *self.sides(batch), self._of_rows(batch), symmetric=symmetric
            )
        else:
            values, counts = self._whole(batch)
            sums = values.sum(0)
            counts = counts.sum(0)
        return (sums / counts.clamp_min(1)).sum()

    def values(self, batch: Batch) -> Tensor:
        batch = normalised(batch)
        if self.by_blocks:
            terms = self._of_rows(batch)

            def values_and_counts(similarities: Tensor, rows: slice) -> Tensor:
                return torch.stack(terms(similarities, rows), 2)

            values, counts = by_rows(*self.sides(batch), values_and_counts).unbind(2)
        else:
            values, counts = self._whole(batch)
        whole = counts.detach().sum(0).clamp_min(1)
        shares = len(batch) * (values / whole).sum(1)
        if not self.needs_positives:
            return shares
        has_positive = torch.zeros_like(batch.query_labels, dtype=torch.bool)
        has_positive[batch.pairs()[:, 0]] = True
        return shares.masked_fill(~has_positive, torch.nan)

    def _whole(self, batch: Batch) -> tuple[Tensor, Tensor]:
        queries, items = self.sides(batch)
        similarities = tie(queries @ items.T, repeats(items.detach()))
        return self._of_rows(batch)(similarities, slice(0, len(batch)))

    def _of_rows(self, batch: Batch) -> Callable[[Tensor, slice], tuple[Tensor, Tensor]]:
        """Return the function of similarities and rows that the kernels call."""
        mined = None if batch.mined is None else MinedPairs(batch)

        def of_rows(similarities: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            if mined is None:
                positives, ranked = batch.masks(rows, include_self=False)
                negatives = ranked & ~positives
            else:
                positives, negatives = mined.weights(rows, like=similarities)
            return self.terms(similarities, Pairs(batch, rows, positives, negatives))

        return of_rows


class MinedPairs:
    """The pairs that a miner chose, by query. A triplet counts as its two pairs."""

    def __init__(self, batch: Batch):
        assert batch.mined is not None
        self.items = len(batch.items)
        anchors, positives, *others = batch.mined
        if len(others) == 1:  # triplets, whose negatives have the same anchors
            others = [anchors, *others]
        pairs = [(anchors, positives), (others[0], others[1])]
        self.sorted = [
            _by_query(*(indices.to(batch.queries.device) for indices in pair)) for pair in pairs
        ]

    def weights(self, rows: slice, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return how often some queries' positive and negative pairs were chosen, [b r] each."""
        edges = torch.tensor([rows.start, rows.stop], device=like.device)
        found = []
        for queries, items in self.sorted:
            start, stop = torch.searchsorted(queries, edges).tolist()
            block = torch.zeros(
                rows.stop - rows.start, self.items, dtype=like.dtype, device=like.device
            )
            at = queries[start:stop] - rows.start, items[start:stop]
            found.append(block.index_put_(at, block.new_ones(()), accumulate=True))
        return found[0], found[1]


def _by_query(queries: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
    queries, order = queries.sort(stable=True)
    return queries, items[order]


def distances(similarities: Tensor, batch: Batch, rows: slice) -> Tensor:
    """Return the Euclidean distances of unit rows, or rows of zeros, from their similarities, [b r].

    Equal rows are exactly 0 apart, and pull and push each other nowhere.
    """
    squares = batch.query_squares[rows, None] + batch.item_squares - 2 * similarities
    apart = squares.detach() > 0
    equal = batch.equal_rows(rows)
    if equal is not None:
        apart &= ~equal
    return torch.where(apart, squares, 1).sqrt() * apart


def entries(weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the pairs of a block, [b r]: query and item, int64 [p] each, and how often each pair counts, [p]."""
    query, item = weights.nonzero(as_tuple=True)
    return query, item, weights[query, item]


def slots(query: Tensor, item: Tensor, queries: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each query's first item, then its second, and so on, for pairs in order of their query.

    Yields int64 [q] and bool [q]: an item for each of so many queries, and whether there is one; 0 where there is none.
    """
    counts = torch.bincount(query, minlength=queries)
    place = torch.arange(len(query), device=query.device) - (counts.cumsum(0) - counts)[query]
    for number in range(int(counts.max()) if queries else 0):
        at = place == number
        yield torch.zeros_like(counts).index_put((query[at],), item[at]), counts > number


def log_sum_exp(values: Tensor, weights: Tensor) -> Tensor:
    """Compute the log of the weighted sum of exp over each row, [b] from [b r]; -inf for a row without weights."""
    if weights.dtype == torch.bool:
        held = values.masked_fill(~weights, -torch.inf)
    else:
        held = values + weights.log()
    has_entries = weights.any(1)
    # logsumexp has no gradient where all are -inf
    held = torch.where(has_entries[:, None], held, 0)
    return held.logsumexp(1).masked_fill(~has_entries, -torch.inf)
