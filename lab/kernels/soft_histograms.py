"""Soft histograms of similarities, as FastAP and SoftBin-AP count with.

`intervals` + 1 bins have their centres evenly on [low, 1], from the best, 1, to the worst. A similarity is split among
the two centres around it in proportion to nearness; one beyond an end falls into the end's bin, without gradient. On a
centre the gradient is that of the interval below it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lab.kernels import paths, sharing
from lab.kernels.pairs import check_embeddings
from lab.kernels.rowwise import by_rows
from lab.surrogates import once_differentiable

MOST_INTERVALS = 250
"""Compiled tiles name an interval by a byte, and take time in proportion to their number."""


def soft_histograms(
    queries: Tensor,
    items: Tensor,
    query_labels: Tensor,
    item_labels: Tensor,
    exclude_self: bool,
    low: float,
    intervals: int,
) -> tuple[Tensor, Tensor]:
    """Each query's positives in every bin, and its items in the bins up to there, [q intervals+1] each.

    Bins run from the best to the worst. Both are differentiable in queries and items, once.

    Args:
        queries: [q d], unit length.
        items: [r d]; the same tensor as `queries` when a batch is compared with itself, which halves the work.
        query_labels, item_labels: int64 [q] and [r]; items of the query's label are its positives.
        exclude_self: query row and item row of the same number are one example, which is not counted.
        low: similarity of the lowest centre, below 1.
        intervals: at least 1.

    Time O(q r (d + intervals)); memory O(q intervals), one tile and the gradient.

    Raises:
        ValueError: shapes or types do not fit.
    """
    check_embeddings(queries, items)
    if items is queries and _compiled(queries, intervals):
        positives, seen = _OneSet.apply(queries, query_labels, exclude_self, low, intervals).unbind(
            1
        )
        return positives, seen

    def values(similarities: Tensor, rows: slice) -> Tensor:
        alike = query_labels[rows, None] == item_labels
        ranked = torch.ones_like(alike)
        if exclude_self:
            ranked[:, rows].fill_diagonal_(False)
        place = (1 - similarities) * (intervals / (1 - low))
        positives = _spread(place, alike & ranked, intervals)
        return torch.stack([positives, _spread(place, ranked, intervals).cumsum(1)], 1)

    positives, seen = by_rows(queries, items, values).unbind(1)
    return positives, seen


def _spread(place: Tensor, mask: Tensor, intervals: int) -> Tensor:
    """Histogram of each row's masked places, [n intervals+1]."""
    place = place.clamp(0, intervals)
    lower = place.detach().floor().clamp_max(intervals - 1).long()
    share = place - lower
    counts = place.new_zeros(len(place), intervals + 1)
    counts = counts.scatter_add(1, lower, torch.where(mask, 1 - share, 0))
    return counts.scatter_add(1, lower + 1, torch.where(mask, share, 0))


def _compiled(rows: Tensor, intervals: int) -> bool:
    """Whether compiled tiles take this case."""
    known = (
        rows.dtype == torch.float32
        and rows.device.type == "cpu"
        and 0 < intervals <= MOST_INTERVALS
    )
    return known and len(rows) > 0 and paths.compiles("cpu.histograms", len(rows))


class _OneSet(torch.autograd.Function):
    """The histograms of a batch compared with itself by compiled tiles, [n 2 intervals+1]."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, *rest: Any) -> Tensor:
        from lab.kernels.cpu.histograms import HistogramTileLoop

        ctx.save_for_backward(rows)
        ctx.rest, ctx.share = rest, sharing.current()
        with torch.autocast("cpu", enabled=False):
            ctx.loop = HistogramTileLoop(rows, *rest)
            return ctx.loop.forward(keep=ctx.needs_input_grad[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        from lab.kernels.cpu.histograms import HistogramTileLoop

        (rows,) = ctx.saved_tensors
        with torch.autocast("cpu", enabled=False), sharing.among(ctx.share):
            loop = ctx.loop or HistogramTileLoop(rows, *ctx.rest)
            ctx.loop = None
            return ctx.share.part_of_mean(loop.backward(weights.contiguous())), *(
                None for _ in ctx.rest
            )
