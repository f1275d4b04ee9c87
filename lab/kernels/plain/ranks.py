"""The tiled kernels in plain tensors: every device, every surrogate, both precisions. Other paths are held to it.

A block is a few whole rows of the similarity matrix, so a positive's similarity and those it is compared with come
from one product, in which equal embeddings tie exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.cpu.products import add_product, product, repeats, tie
from lab.kernels.layout import block_bytes

if TYPE_CHECKING:
    from lab.surrogates import Surrogate

BLOCK_BYTES = 4 << 20
"""Size of one block of similarities; the surrogate then works on a quarter of it at a time, which stays in cache."""

MIN_ROWS = 32
"""Fewer rows than this would spend a block's time on reading the items."""

ROW_WORK = 16
"""Positives whose comparisons take about as long as a row's products."""


class PlainTileLoop:
    """One batch ranked against some items, or among itself: `forward`, then `backward` as often as wanted."""

    def __init__(
        self,
        queries: Tensor,
        items: Tensor | None,
        positives: Tensor,
        step: Surrogate | None,
        exclude_self: bool,
        against: bool,
        margin: float | None,
    ):
        self.queries = queries
        self.items = queries if items is None else items
        self.positives = positives
        self.step = step
        self.margin = margin
        self.exclude_self = exclude_self
        self.against = against
        self.repeated, self.share = repeats(self.items), sharing.current()

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Rank sums [p], excess [q] and violations [q]. Nothing is kept, whether or not a backward will follow."""
        sums = self.queries.new_zeros(len(self.positives))
        excess, violations = self.queries.new_zeros(2, len(self.queries))
        for chosen, pairs, local, item in self._blocks():
            similarities = self._similarities(chosen)
            itself = chosen if self.exclude_self else None
            if self.step is not None:
                for part in _parts(len(pairs), similarities):
                    value = self.step.value(_gaps(similarities, local[part], item[part]))
                    _leave_out(value, local[part], item[part], itself, local, item, self.against)
                    sums[pairs[part]] = value.sum(1)
            if self.margin is not None:
                over = (similarities - self.margin).clamp_min_(0)
                over = _unranked_as_zero(over, itself, local, item, self.against)
                excess[chosen] = over.sum(1)
                violations[chosen] = (over > 0).sum(1).to(over)
        sums, excess, violations = self.share.sum(sums, excess, violations)
        return sums, excess, violations

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """Gradients of queries and items from those of the sums, [p], and of the excess, [q]."""
        one_set = self.items is self.queries
        query_grad = torch.zeros_like(self.queries)
        item_grad = query_grad if one_set else torch.zeros_like(self.items)
        for chosen, pairs, local, item in self._blocks():
            similarities = self._similarities(chosen)
            itself = chosen if self.exclude_self else None
            gradient = torch.zeros_like(similarities)
            if self.margin is not None:
                gradient = (similarities > self.margin) * excess_weights[chosen, None]
                gradient = _unranked_as_zero(gradient, itself, local, item, self.against)
            if self.step is not None:
                for part in _parts(len(pairs), similarities):
                    slope = self.step.derivative(_gaps(similarities, local[part], item[part]))
                    _leave_out(slope, local[part], item[part], itself, local, item, self.against)
                    slope *= weights[pairs[part], None]
                    slope[torch.arange(len(slope), device=slope.device), item[part]] = -slope.sum(1)
                    gradient.index_add_(0, local[part], slope)
            query_grad.index_add_(0, chosen, product(gradient, self.items.T))
            add_product(item_grad, gradient.T, self.queries[chosen])
        return query_grad, None if one_set else item_grad

    def _similarities(self, chosen: Tensor) -> Tensor:
        """Of the chosen query rows to all items, [b r]."""
        return tie(product(self.queries[chosen], self.items), self.repeated)

    def _blocks(self) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Query rows of each block of this process's share, which pairs are theirs, each pair's row in the block, and
        its item. Rows without pairs are left out unless they are compared with the margin."""
        order = torch.argsort(self.positives[:, 0], stable=True)
        counts = torch.bincount(self.positives[:, 0], minlength=len(self.queries))
        rows = torch.arange(len(self.queries), device=counts.device)
        rows = rows[counts > 0] if self.margin is None else rows
        counts = counts[rows]
        owner = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        ends = [0, *counts.cumsum(0).tolist()]
        row_bytes = len(self.items) * self.items.element_size()
        height = max(MIN_ROWS, block_bytes(self.queries, BLOCK_BYTES) // max(1, row_bytes))
        mine = self.share.rows(counts + ROW_WORK)
        for start in range(mine.start, mine.stop, height):
            stop = min(start + height, mine.stop)
            those = slice(ends[start], ends[stop])
            yield (
                rows[start:stop],
                order[those],
                owner[those] - start,
                self.positives[order[those], 1],
            )


def _parts(pairs: int, similarities: Tensor) -> Iterator[slice]:
    """Slices of pairs, each small enough for its [pairs r] gaps to stay in cache."""
    width = max(
        1,
        block_bytes(similarities, BLOCK_BYTES)
        // 4
        // (similarities.shape[1] * similarities.element_size()),
    )
    return (slice(start, start + width) for start in range(0, pairs, width))


def _gaps(similarities: Tensor, local: Tensor, item: Tensor) -> Tensor:
    return similarities[local].sub_(similarities[local, item][:, None])


def _unranked_as_zero(
    matrix: Tensor, itself: Tensor | None, local: Tensor, item: Tensor, against: bool
) -> Tensor:
    """The matrix, [b r], with zeros where an item is not ranked: a query `itself`, [b], and `against` its positives."""
    if itself is not None:
        matrix[torch.arange(len(matrix), device=matrix.device), itself] = 0
    if against:
        matrix[local, item] = 0
    return matrix


def _leave_out(
    matrix: Tensor,
    query: Tensor,
    positive: Tensor,
    itself: Tensor | None,
    local: Tensor,
    item: Tensor,
    against: bool,
) -> None:
    """The same of a matrix with a row for each of some pairs, [c r], in place; nor is a positive ranked against itself.

    query, positive: [c], those pairs. local, item: all pairs of the block, by query.
    """
    line = torch.arange(len(matrix), device=matrix.device)
    matrix[line, positive] = 0
    if itself is not None:
        matrix[line, itself[query]] = 0
    if against:
        first = torch.searchsorted(local, query)
        count = torch.searchsorted(local, query, right=True) - first
        owner = torch.repeat_interleave(line, count)
        nth = torch.arange(len(owner), device=matrix.device) - (count.cumsum(0) - count)[owner]
        matrix[owner, item[first[owner] + nth]] = 0


def pair_similarities(queries: Tensor, items: Tensor | None, pairs: Tensor) -> Tensor:
    """Dot product of each pair, [p]; `items` None means the queries themselves."""
    items = queries if items is None else items
    products = queries.new_empty(len(pairs))
    chunk = _pairs_a_chunk(queries)
    for start in range(0, len(pairs), chunk):
        a, b = pairs[start : start + chunk].unbind(1)
        products[start : start + chunk] = (queries[a] * items[b]).sum(1)
    return products


def pair_similarities_backward(
    queries: Tensor, items: Tensor | None, pairs: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Gradients of queries and items from the gradient [p] of the pairs' similarities."""
    same = items is None
    items = queries if items is None else items
    query_grad = torch.zeros_like(queries)
    item_grad = query_grad if same else torch.zeros_like(items)
    chunk = _pairs_a_chunk(queries)
    for start in range(0, len(pairs), chunk):
        (a, b), weight = (
            pairs[start : start + chunk].unbind(1),
            weights[start : start + chunk, None],
        )
        query_grad.index_add_(0, a, weight * items[b])
        item_grad.index_add_(0, b, weight * queries[a])
    return query_grad, None if same else item_grad


def _pairs_a_chunk(embeddings: Tensor) -> int:
    return max(
        1,
        block_bytes(embeddings, BLOCK_BYTES)
        // 4
        // (embeddings.shape[1] * embeddings.element_size()),
    )


def positive_sums(
    similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """Sums of `lab.kernels.positive_rank_sums`, [p], for pairs ordered by query."""
    sums = torch.empty_like(similarities)
    for part, others, valid in _groups(ordered, exclude_self):
        value = step.value(similarities[others] - similarities[part, None])
        sums[part] = torch.where(valid, value, 0).sum(1)
    return sums


def positive_sums_backward(
    similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool, weights: Tensor
) -> Tensor:
    """Gradient [p] of the pairs' similarities from the gradient [p] of the sums."""
    grad = torch.zeros_like(similarities)
    for part, others, valid in _groups(ordered, exclude_self):
        slope = (
            step.derivative(similarities[others] - similarities[part, None]) * weights[part, None]
        )
        slope = torch.where(valid, slope, 0)
        grad.index_add_(0, others.flatten(), slope.flatten())
        grad[part] -= slope.sum(1)
    return grad


def _groups(ordered: Tensor, exclude_self: bool) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Slices of pairs, with the pairs of the same query [c P] and which of those are ranked against each."""
    if not len(ordered):
        return
    _, owner, counts = torch.unique_consecutive(
        ordered[:, 0], return_inverse=True, return_counts=True
    )
    size = counts[owner]
    start = (counts.cumsum(0) - counts)[owner]
    width = max(1, block_bytes(ordered, BLOCK_BYTES) // 4 // (8 * int(counts.max())))
    for first in range(0, len(ordered), width):
        part = slice(first, min(first + width, len(ordered)))
        slot = torch.arange(int(size[part].max()), device=ordered.device)
        inside = slot < size[part, None]
        others = torch.where(inside, start[part, None] + slot, start[part, None])
        this = torch.arange(part.start, part.stop, device=ordered.device)
        valid = inside & (others != this[:, None])
        if exclude_self:
            valid &= (ordered[:, 0] != ordered[:, 1])[others]
        yield part, others, valid
