"""Rank sums: the number of items above each positive, with the Heaviside step replaced by a surrogate.

    sum over items z of step(s(q, z) - s(q, positive))            (000 eq. 4-5; 001 eq. 3-4)

Only positives need ranks, so the cost is one similarity product and r surrogate values per pair. Between forward and
backward only one sum per pair is kept: backward computes the same tiles again.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lab.kernels import paths, sharing
from lab.kernels.layout import Blocks, Mixture
from lab.kernels.pairs import check_embeddings, check_pairs, check_positives
from lab.kernels.plain import ranks as plain
from lab.surrogates import Sigmoid, once_differentiable

if TYPE_CHECKING:
    from lab.surrogates import Surrogate


def rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """Count softly the items above each positive, [p].

    For pair (a, b) this is the sum over items z other than b (and other than row a when `exclude_self`) of
    `step(s_az - s_ab)`, s being dot products. Differentiable in queries and items, once.

    Args:
        queries: [q d], float32 or float64, normalised already where the loss wants cosines.
        items: [r d]; pass the same tensor as `queries` when a batch is ranked among itself, which halves the work.
        positives: int64 [p 2], query row and item row of every pair, in any order, each of them once.
        step: stands in for the Heaviside step.
        exclude_self: query row and item row of the same number are one example, which is not ranked.

    Time O(q r d + p r); extra memory O(p), some tiles, and the gradient.

    Raises:
        ValueError: shapes, types or row numbers do not fit, or a pair is listed twice.
    """
    return _checked_sums(queries, items, positives, step, exclude_self)[0]


def mixed_rank_sums(
    originals: Tensor,
    parents: Tensor,
    alpha: Tensor,
    positives: Tensor,
    step: Surrogate,
    exclude_self: bool,
) -> Tensor:
    """`rank_sums` of originals and their virtual mixtures among themselves, [p] (000 eq. 8-10).

    Rows 0..n-1 are the originals, rows n..n+v-1 are alpha x + (1 - alpha) z.

    Args:
        originals: [n d].
        parents: int64 [v 2], the two original rows of each virtual row.
        alpha: [v], weight of the first parent; constant.
        positives: int64 [p 2] among the n + v rows.

    Time O(n^2 d + (n + v)^2 + p (n + v)); extra memory O(p), some tiles, and the gradient [n d]. In plain tensors,
    and on CUDA with H-, with pairs left out or with a class of more than 64 originals, mixtures are rows of their own:
    O((n + v)^2 d + p (n + v)), and their rows, too.
    """
    check_embeddings(originals, originals)
    check_pairs(parents, len(originals), len(originals), what="parents")
    check_positives(positives, len(originals) + len(parents), len(originals) + len(parents))
    if alpha.shape != parents.shape[:1]:
        raise ValueError(
            f"alpha must hold one weight a virtual row, [{len(parents)}], got {list(alpha.shape)}."
        )
    mixture = Mixture(parents, alpha.detach().to(originals))
    chosen = paths.choose(originals, None, mixture, positives, step, exclude_self, False, None)
    if chosen == "triton":
        mixture = replace(mixture, blocks=_blocks(len(originals), mixture, positives, step))
    if chosen == "plain" or (chosen == "triton" and mixture.blocks is None):
        rows = _with_mixtures(originals, mixture)
        return _RankSums.apply(rows, None, None, positives, step, exclude_self, False, None)[0]
    return _RankSums.apply(originals, None, mixture, positives, step, exclude_self, False, None)[0]


def _blocks(n: int, mixture: Mixture, positives: Tensor, step: Surrogate) -> Blocks | None:
    """How Triton's kernels mix inside the tile of the parents, or None where they do not."""
    if not isinstance(step, Sigmoid) or not paths.runs_here("cuda.mixtures"):
        return None
    from lab.kernels.cuda.blocks import blocks_of
    from lab.kernels.cuda.triton_tiles import ROWS

    return blocks_of(n, mixture, positives, ROWS)


def _with_mixtures(originals: Tensor, mixture: Mixture) -> Tensor:
    """Originals followed by their mixtures, [n + v, d]."""
    x, z = mixture.parents.unbind(1)
    return torch.cat([originals, torch.lerp(originals[z], originals[x], mixture.alpha[:, None])])


def negative_rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """`rank_sums` where only negatives are ranked, items that no pair of the query names, [p] (001 eq. 5).

    `rank_sums - positive_rank_sums` is the same number on paper. In float32 it is not: with H- a positive far ahead
    adds a hundred to both, and what is left of a nearly perfect ranking is the rounding.
    Arguments, cost and errors are those of `rank_sums`; `positives` must list every positive of a query it mentions.
    """
    return _checked_sums(queries, items, positives, step, exclude_self, against=True)[0]


def rank_and_hinge_sums(
    queries: Tensor,
    items: Tensor,
    positives: Tensor,
    step: Surrogate,
    margin: float,
    exclude_self: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """`negative_rank_sums`, [p], and in the same loop the negatives' excess over a margin (001 eq. 5 and 7).

    Excess [q] is the sum over a query's negatives z of max(0, s_qz - margin), differentiable; violations [q] is how
    many negatives exceed the margin. Arguments, cost and errors are those of `negative_rank_sums`.
    """
    return _checked_sums(queries, items, positives, step, exclude_self, against=True, margin=margin)


def hinge_sums(
    queries: Tensor, items: Tensor, positives: Tensor, margin: float, exclude_self: bool
) -> tuple[Tensor, Tensor]:
    """Excess and violations of `rank_and_hinge_sums` without any ranks, [q] each. Time O(q r d), memory as above."""
    return _checked_sums(
        queries, items, positives, None, exclude_self, against=True, margin=margin
    )[1:]


def positive_rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """`rank_sums` where only the query's own positives are ranked, [p].

    `rank_sums - positive_rank_sums` is therefore the sum over the negatives.
    Time O(p d + sum of |P|^2); extra memory O(p), one block, and the gradient.
    """
    check_embeddings(queries, items, exclude_self)
    listed = check_positives(positives, len(queries), len(items))
    order = None if listed else torch.argsort(positives[:, 0], stable=True)
    ordered = positives if order is None else positives[order]
    similarities = _PairSimilarities.apply(queries, _other(queries, items), ordered)
    sums = _PositiveRankSums.apply(similarities, ordered, step, exclude_self)
    return sums if order is None else torch.empty_like(sums).index_copy(0, order, sums)


def pair_similarities(queries: Tensor, items: Tensor, pairs: Tensor) -> Tensor:
    """Compute the dot product of each pair, [p]; differentiable. Time O(p d), memory one tile, [p] and the gradient."""
    check_embeddings(queries, items)
    check_pairs(pairs, len(queries), len(items))
    return _PairSimilarities.apply(queries, _other(queries, items), pairs)


def _checked_sums(
    queries: Tensor,
    items: Tensor,
    positives: Tensor,
    step: Surrogate | None,
    exclude_self: bool,
    against: bool = False,
    margin: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Rank sums, excess and violations; `against`: of negatives alone."""
    check_embeddings(queries, items, exclude_self)
    check_positives(positives, len(queries), len(items))
    return _RankSums.apply(
        queries, _other(queries, items), None, positives, step, exclude_self, against, margin
    )


def _other(queries: Tensor, items: Tensor) -> Tensor | None:
    """Return the items, or None if a batch is ranked among itself, so that one gradient is enough."""
    return None if items is queries else items


def _tile_loop(
    chosen: str,
    queries: Tensor,
    items: Tensor | None,
    mixture: Mixture | None,
    positives: Tensor,
    *rest: Any,
) -> Any:
    """The loop over the tiles on a path: `forward(keep)`, then `backward`."""
    if chosen == "compiled":
        from lab.kernels.cpu.ranks import CompiledTileLoop

        return CompiledTileLoop(queries, mixture, positives, *rest)
    if chosen == "triton" and mixture is not None and mixture.blocks is not None:
        from lab.kernels.cuda.mixtures import MixedTileLoop

        return MixedTileLoop(queries, mixture.blocks, positives, *rest[:2])
    if chosen == "triton":
        from lab.kernels.cuda.ranks import FusedTileLoop

        return FusedTileLoop(queries, items, positives, *rest)
    return plain.PlainTileLoop(queries, items, positives, *rest)


class _RankSums(torch.autograd.Function):
    """Rank sums [p], excess [q] and violations [q]; the last carry no gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        items: Tensor | None,
        mixture: Mixture | None,
        positives: Tensor,
        *rest: Any,
    ) -> tuple[Tensor, ...]:
        ctx.chosen = paths.choose(queries, items, mixture, positives, *rest)
        ctx.mixture = mixture
        ctx.rest = rest
        ctx.share = sharing.current()
        with torch.autocast(queries.device.type, enabled=False):
            # What forward kept goes with the first backward; a second one, which is rare, walks forward again.
            ctx.loop = _tile_loop(ctx.chosen, queries, items, mixture, positives, *rest)
            outputs = ctx.loop.forward(keep=any(ctx.needs_input_grad))
        # Rows that the loop has copied are saved in place of those given, so that these can go before backward comes.
        rows, place = ctx.loop.rows if ctx.chosen == "compiled" else (queries, None)
        ctx.save_for_backward(rows, place, items, positives)
        ctx.mark_non_differentiable(outputs[2])
        return outputs

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, weights: Tensor, excess_weights: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        rows, place, items, positives = ctx.saved_tensors
        with torch.autocast(rows.device.type, enabled=False), sharing.among(ctx.share):
            loop = ctx.loop
            ctx.loop = None
            if loop is None:
                queries = rows if place is None else rows[place]
                loop = _tile_loop(ctx.chosen, queries, items, ctx.mixture, positives, *ctx.rest)
                loop.forward(keep=False)
            grads = loop.backward(weights.contiguous(), excess_weights.contiguous())
        shares = (None if grad is None else ctx.share.part_of_mean(grad) for grad in grads)
        return *shares, None, None, *(None for _ in ctx.rest)


class _PairSimilarities(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, items: Tensor | None, pairs: Tensor) -> Tensor:
        ctx.save_for_backward(queries, items, pairs)
        return _pair_path(queries).pair_similarities(queries, items, pairs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        queries, items, pairs = ctx.saved_tensors
        return *_pair_path(queries).pair_similarities_backward(queries, items, pairs, weights), None


def _pair_path(queries: Tensor) -> ModuleType:
    """The module that computes single similarities."""
    if paths.path(queries.device) != "compiled":
        return plain
    from lab.kernels.cpu import ranks as compiled

    return compiled


def _positives_path(similarities: Tensor, step: Surrogate) -> ModuleType:
    """The module that ranks a query's positives among themselves."""
    path = _pair_path(similarities)
    return (
        path
        if path is not plain and similarities.dtype == torch.float32 and path.knows_positives(step)
        else plain
    )


class _PositiveRankSums(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool
    ) -> Tensor:
        ctx.step = step
        ctx.exclude_self = exclude_self
        ctx.save_for_backward(similarities, ordered)
        return _positives_path(similarities, step).positive_sums(
            similarities, ordered, step, exclude_self
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        similarities, ordered = ctx.saved_tensors
        path = _positives_path(similarities, ctx.step)
        return (
            path.positive_sums_backward(similarities, ordered, ctx.step, ctx.exclude_self, weights),
            None,
            None,
            None,
        )
