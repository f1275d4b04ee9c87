"""Rank sums over the negatives alone.

    sum over items z that are no positive of q of step(s(q, z) - s(q, positive))            (001 eq. 5)

`rank_sums - rank_sums_among` is the same number on paper. In float32 it is not: with H- a positive far ahead adds a
hundred to both, and what is left of a nearly perfect ranking is the rounding; and where the step jumps, a tie that one
of the two sees and the other does not costs half a rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lab.kernels._pairs import check_embeddings, check_pairs

if TYPE_CHECKING:
    from lab.surrogates import Surrogate

TILE_BYTES = 4 << 20
"""Size of one tile of gaps."""


def rank_sums_against(queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool) -> Tensor:
    """Soft number of negatives above each positive, [p]: items that are paired with the query are not counted.

    Arguments, differentiability and errors are those of `rank_sums`; `positives` must list every positive of a query
    that it mentions. Time O(q r d + p r); extra memory a few tiles, and the gradient.
    """
    check_embeddings(queries, items, exclude_self)
    check_pairs(positives, len(queries), len(items))
    return _Against.apply(queries, None if items is queries else items, positives, step, exclude_self)


class _Against(torch.autograd.Function):
    @staticmethod
    def forward(ctx, queries, items, positives, step, exclude_self):
        ctx.save_for_backward(queries, items, positives)
        ctx.step, ctx.exclude_self = step, exclude_self
        items = queries if items is None else items
        sums = queries.new_empty(len(positives))
        with torch.autocast(queries.device.type, enabled=False):
            for _, _, pairs, gap, counted in _tiles(queries, items, positives, exclude_self):
                sums[pairs] = step.value(gap).mul_(counted).sum(1)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx, weights):
        queries, given, positives = ctx.saved_tensors
        items = queries if given is None else given
        query_grad = torch.zeros_like(queries)
        item_grad = query_grad if given is None else torch.zeros_like(items)
        with torch.autocast(queries.device.type, enabled=False):
            for rows, local, pairs, gap, counted in _tiles(queries, items, positives, ctx.exclude_self):
                slope = ctx.step.derivative(gap).mul_(counted).mul_(weights[pairs, None])
                slope[torch.arange(len(pairs), device=gap.device), positives[pairs, 1]] = -slope.sum(1)
                of_rows = slope.new_zeros(len(rows), len(items)).index_add_(0, local, slope)
                query_grad.index_add_(0, rows, of_rows @ items)
                item_grad.addmm_(of_rows.T, queries[rows])
        return query_grad, None if given is None else item_grad, None, None, None


def _tiles(queries: Tensor, items: Tensor, positives: Tensor, exclude_self: bool) -> Iterator[tuple[Tensor, ...]]:
    """Tiles of whole queries: their rows [b], each pair's place among them [c], its number [c], and its gaps [c r] with
    what of them counts."""
    if not len(positives):
        return
    order = torch.argsort(positives[:, 0], stable=True)
    rows, owner, counts = torch.unique_consecutive(positives[order, 0], return_inverse=True, return_counts=True)
    ends = [0, *counts.cumsum(0).tolist()]
    budget = max(1, TILE_BYTES // (len(items) * queries.element_size()))
    start = 0
    while start < len(rows):
        stop = start + 1
        while stop < len(rows) and ends[stop + 1] - ends[start] <= budget:
            stop += 1
        mine = slice(ends[start], ends[stop])
        pairs, local, item = order[mine], owner[mine] - start, positives[order[mine], 1]
        similarities = queries[rows[start:stop]] @ items.T
        counted = torch.ones_like(similarities)
        counted[local, item] = 0
        if exclude_self:
            counted[torch.arange(stop - start, device=counted.device), rows[start:stop]] = 0
        gap = similarities[local] - similarities[local, item][:, None]
        yield rows[start:stop], local, pairs, gap, counted[local]
        start = stop
