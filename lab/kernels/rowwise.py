"""Losses whose value for a query depends on that query's similarities alone, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.cpu.products import repeats, tie
from lab.kernels.layout import block_bytes
from lab.kernels.pairs import check_embeddings
from lab.surrogates import once_differentiable

BLOCK_BYTES = 512 << 10
"""Size of one block of similarities; a histogram holds some twenty of them."""

MIN_ROWS = 8
"""Fewer rows than this would spend a block's time on reading the items."""


def by_rows(queries: Tensor, items: Tensor, values: Callable[[Tensor, slice], Tensor]) -> Tensor:
    """`values(queries @ items.T, slice of all rows)`, [q ...], without the whole matrix; differentiable in both, once.

    Args:
        queries: [q d].
        items: [r d]; the same tensor when a batch is compared with itself.
        values: from similarities [b r] of the given slice of queries to some numbers a query, [b ...]; differentiable,
            and the same whenever it is called, for backward calls it again.

    Time that of `values` twice and O(q r d); extra memory some blocks, and the gradient.

    Raises:
        ValueError: shapes or types do not fit.
    """
    check_embeddings(queries, items)
    return _ByRows.apply(queries, None if items is queries else items, values)


class _ByRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, items: Tensor | None, values: Callable[[Tensor, slice], Tensor]) -> Tensor:
        ctx.save_for_backward(queries, items)
        ctx.values, ctx.share = values, sharing.current()
        items = queries if items is None else items
        ctx.repeated = repeats(items)
        with torch.autocast(queries.device.type, enabled=False):
            blocks = ((tie(queries[rows] @ items.T, ctx.repeated), rows) for rows in _blocks(queries, items, ctx.share))
            local = torch.cat([values(*block) for block in blocks])
        return ctx.share.join(local, ctx.share.even(len(queries)))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        queries, gallery = ctx.saved_tensors
        items = queries if gallery is None else gallery
        query_grad = torch.zeros_like(queries)
        item_grad = query_grad if gallery is None else torch.zeros_like(items)
        with torch.autocast(queries.device.type, enabled=False):
            for rows in _blocks(queries, items, ctx.share):
                similarities = tie(queries[rows] @ items.T, ctx.repeated).requires_grad_()
                with torch.enable_grad():
                    values = ctx.values(similarities, rows)
                (slope,) = torch.autograd.grad(values, similarities, weights[rows])
                query_grad[rows] += slope @ items
                item_grad.addmm_(slope.T, queries[rows])
        of_items = None if gallery is None else ctx.share.part_of_mean(item_grad)
        return ctx.share.part_of_mean(query_grad), of_items, None


def _blocks(queries: Tensor, items: Tensor, share: sharing.Share) -> Iterator[slice]:
    """Slices of this process's share of the queries; an empty one where it has none."""
    height = max(MIN_ROWS, block_bytes(items, BLOCK_BYTES) // max(1, len(items) * items.element_size()))
    local = share.local(len(queries))
    starts = range(local.start, max(local.start + 1, local.stop), height)
    return (slice(at, min(at + height, local.stop)) for at in starts)
