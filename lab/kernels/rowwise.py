"""Losses whose value for a query depends on that query's similarities alone, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.cpu.products import add_product, product, repeats, tie
from lab.kernels.layout import block_bytes
from lab.kernels.pairs import check_embeddings
from lab.surrogates import once_differentiable

BLOCK_BYTES = 512 << 10
"""Size of one block of similarities; a histogram holds some twenty of them."""

MIN_ROWS = 8
"""Fewer rows than this would spend a block's time on reading the items."""

SUMMED_BYTES = 2 << 20
"""Size of one block of similarities of which only sums are kept."""

MIN_SUMMED_ROWS = 32
"""Rows of such a block, at least: three products read all items for each block."""

SPARSE = 64
"""A gradient of a block with fewer entries than one in so many is multiplied entry by entry."""

Terms = Callable[[Tensor, slice], tuple[Tensor, Tensor]]
"""From similarities [b r] of a slice of the queries: values [b t], differentiable, and counts [b t]."""


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
    def forward(
        ctx: Any, queries: Tensor, items: Tensor | None, values: Callable[[Tensor, slice], Tensor]
    ) -> Tensor:
        ctx.save_for_backward(queries, items)
        ctx.values, ctx.share = values, sharing.current()
        items = queries if items is None else items
        ctx.repeated = repeats(items)
        with torch.autocast(queries.device.type, enabled=False):
            blocks = (
                (tie(queries[rows] @ items.T, ctx.repeated), rows)
                for rows in _blocks(queries, items, ctx.share)
            )
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


def sums_of_rows(
    queries: Tensor, items: Tensor, terms: Terms, *, symmetric: bool = False
) -> tuple[Tensor, Tensor]:
    """Sum `terms(queries @ items.T, slice of all rows)` over all queries, without the whole matrix.

    Returns the sums of the values, [t], differentiable in queries and items, once; and the sums of the counts, [t].
    Each block's gradient is taken while the block is at hand, so that backward only scales what is there. Use `by_rows`
    where each query's value gets a weight of its own.

    Args:
        queries: [q d].
        items: [r d]; the same tensor when a batch is compared with itself.
        terms: from a block of similarities to values and counts of its queries.
        symmetric: of a batch with itself, a value's slope by s_ij equals that by s_ji, which saves a product.

    Time that of `terms` once and O(q r d); extra memory some blocks, and a gradient for each of the t terms.

    Raises:
        ValueError: shapes or types do not fit.
    """
    check_embeddings(queries, items)
    needs_gradient = torch.is_grad_enabled() and (queries.requires_grad or items.requires_grad)
    return _SumsOfRows.apply(
        queries, None if items is queries else items, terms, needs_gradient, symmetric
    )


def mean_of_rows(
    queries: Tensor, items: Tensor, values: Callable[[Tensor, slice], Tensor]
) -> Tensor:
    """Return the mean, [], of one value a query, without those that are NaN: `by_rows` and a mean in half the time.

    Args:
        queries: [q d].
        items: [r d]; the same tensor when a batch is compared with itself.
        values: from similarities [b r] of the given slice of queries to a value each, [b]. Its gradient is taken as if
            the values were added up, and scaled afterwards.

    Raises:
        ValueError: shapes or types do not fit.
    """

    def terms(similarities: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        per_query = values(similarities, rows)[:, None]
        missing = per_query.detach().isnan()
        return per_query.masked_fill(missing, 0), (~missing).to(per_query)

    total, count = sums_of_rows(queries, items, terms)
    return (total / count)[0]


class _SumsOfRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        gallery: Tensor | None,
        terms: Terms,
        needs_gradient: bool,
        symmetric: bool,
    ) -> tuple[Tensor, Tensor]:
        share = sharing.current()
        items = queries if gallery is None else gallery
        repeated = repeats(items)
        gradients: list[_Gradient] = []
        sums = []
        with torch.autocast(queries.device.type, enabled=False):
            for rows in _blocks(queries, items, share, SUMMED_BYTES, MIN_SUMMED_ROWS):
                similarities = tie(product(queries[rows], items), repeated)
                if not needs_gradient:
                    values, counts = terms(similarities, rows)
                    sums.append(torch.stack([values.sum(0), counts.sum(0)]))
                    continue

                with torch.enable_grad():
                    values, counts = terms(similarities.requires_grad_(), rows)
                    totals = values.sum(0).unbind()
                sums.append(torch.stack([values.detach().sum(0), counts.sum(0)]))
                if not gradients:
                    gradients = [_Gradient(queries, gallery, symmetric) for _ in totals]
                for number, (total, gradient) in enumerate(
                    zip(totals, gradients, strict=True), start=1
                ):
                    more = number < len(gradients)
                    (slope,) = torch.autograd.grad(total, similarities, retain_graph=more)
                    gradient.add(slope, rows)
        ctx.share = share
        ctx.own = gallery is None
        ctx.count = len(gradients)
        ctx.save_for_backward(*(part for gradient in gradients for part in gradient.parts))
        (whole,) = share.sum(torch.stack(sums).sum(0))
        total, counts = whole.unbind()
        ctx.mark_non_differentiable(counts)
        return total.clone(), counts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        parts = ctx.saved_tensors
        each = len(parts) // ctx.count
        of_sides = []
        for side in range(each):
            gradient = sum(
                weight * part for weight, part in zip(weights, parts[side::each], strict=True)
            )
            of_sides.append(ctx.share.part_of_mean(gradient))
        return of_sides[0], None if ctx.own else of_sides[1], None, None, None


class _Gradient:
    """The gradient of one sum over a matrix of similarities, gathered block by block.

    parts: by the queries, and by the items unless these are the queries.
    """

    def __init__(self, queries: Tensor, gallery: Tensor | None, symmetric: bool):
        self.queries = queries
        self.items = queries if gallery is None else gallery
        self.symmetric = symmetric and gallery is None
        self.of_queries = torch.zeros_like(queries)
        self.of_items = self.of_queries if gallery is None else torch.zeros_like(gallery)
        self.parts = (self.of_queries,) if gallery is None else (self.of_queries, self.of_items)

    def add(self, slope: Tensor, rows: slice) -> None:
        """Add what a block says; slope: the gradient by its similarities, [b r]."""
        if int(torch.count_nonzero(slope)) * SPARSE <= slope.numel():
            query, item = slope.nonzero(as_tuple=True)
            weights = slope[query, item][:, None]
            query = query + rows.start
            self.of_queries.index_add_(0, query, weights * self.items[item])
            self.of_items.index_add_(0, item, weights * self.queries[query])
        elif self.symmetric:
            add_product(self.of_queries[rows], 2 * slope, self.items)
        else:
            add_product(self.of_queries[rows], slope, self.items)
            add_product(self.of_items, slope.T, self.queries[rows])


def _blocks(
    queries: Tensor,
    items: Tensor,
    share: sharing.Share,
    at_most: int = BLOCK_BYTES,
    at_least: int = MIN_ROWS,
) -> Iterator[slice]:
    """Slices of this process's share of the queries; an empty one where it has none.

    at_most: bytes of a block's similarities. at_least: rows of a block.
    """
    height = max(at_least, block_bytes(items, at_most) // max(1, len(items) * items.element_size()))
    local = share.local(len(queries))
    starts = range(local.start, max(local.start + 1, local.stop), height)
    return (slice(at, min(at + height, local.stop)) for at in starts)
