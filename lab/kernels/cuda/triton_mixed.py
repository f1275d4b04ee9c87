"""Rank sums of mixtures in Triton: a program multiplies one tile of originals and mixes what is ranked from it.

A mixture's similarities are those of its parents, mixed: with M the weights of a block's originals in its mixtures,
[ranked originals], the tile of all that is ranked is M tile M^T, and the gradient goes back the same way. So rows of
width d are multiplied for the originals alone. Importing this file imports Triton.

A block has at most ROWS originals and any number of ranked rows, which are worked through SUB by SUB; `lab.kernels.
mixtures.blocks` makes them. The step is a sigmoid: with H-, ties must be exact, and mixing on either side rounds anew.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lab.kernels.cuda.triton_tiles import ROWS, add_rows, add_values_of, product, rows_of, slopes_of

SUB = 32
"""Ranked rows and columns that are mixed and compared at a time; of 64 originals with four a class there are 160."""

WARPS = 4
"""Groups of 32 threads a program."""

VARYING = ["part", "parts"]
"""Numbers that change from process to process."""

__all__ = [
    "ROWS",
    "SUB",
    "WARPS",
    "add_mixed_gradients",
    "add_mixed_values",
    "mixed_pair_similarities",
]


@triton.jit
def _mixing(
    first: tl.tensor,
    second: tl.tensor,
    alpha: tl.tensor,
    ranked: tl.tensor,
    end: tl.tensor,
    originals: tl.tensor,
) -> tl.tensor:
    """Weights of a block's originals in some of its ranked rows, [ranked originals]; zero behind the block's end."""
    there = ranked < end
    x = tl.load(first + ranked, mask=there, other=-1)
    z = tl.load(second + ranked, mask=there, other=-1)
    of_x = tl.load(alpha + ranked, mask=there, other=0.0)
    weights = tl.where(x[:, None] == originals[None, :], of_x[:, None], 0.0)
    return weights + tl.where(z[:, None] == originals[None, :], 1.0 - of_x[:, None], 0.0)


@triton.jit
def _tile(
    rows: tl.tensor,
    a: tl.tensor,
    b: tl.tensor,
    end_a: tl.tensor,
    end_b: tl.tensor,
    d: tl.tensor,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """Similarities of the originals of two blocks, [ROWS ROWS]; zero behind either's end."""
    return product(rows, a, a < end_a, rows, b, b < end_b, d, DEPTH, PRECISION)


@triton.jit
def mixed_pair_similarities(
    rows: tl.tensor,
    first: tl.tensor,
    second: tl.tensor,
    alpha: tl.tensor,
    edges: tl.tensor,
    ranked_edges: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    scores: tl.tensor,
    d: tl.tensor,
    ROWS: tl.constexpr,
    SUB: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Similarity of each pair, [p]: query and item stand in one block, and it is read from the tile of that block."""
    i = tl.program_id(0)
    end = tl.load(edges + i + 1)
    ranked_begin = tl.load(ranked_edges + i)
    ranked_end = tl.load(ranked_edges + i + 1)
    originals = tl.load(edges + i) + tl.arange(0, ROWS)
    tile = _tile(rows, originals, originals, end, end, d, DEPTH, PRECISION)
    for left in range(ranked_begin, ranked_end, SUB):
        queries = left + tl.arange(0, SUB)
        half = tl.dot(
            _mixing(first, second, alpha, queries, ranked_end, originals),
            tile,
            input_precision=PRECISION,
        )
        begin = tl.load(first_pair + queries, mask=queries < ranked_end, other=0)
        count = tl.load(first_pair + queries + 1, mask=queries < ranked_end, other=0) - begin
        for right in range(ranked_begin, ranked_end, SUB):
            items = right + tl.arange(0, SUB)
            weights = _mixing(first, second, alpha, items, ranked_end, originals)
            mixed = tl.dot(half, tl.trans(weights), input_precision=PRECISION)
            for k in range(0, tl.max(count, 0)):
                there = k < count
                named = tl.load(item_of + begin + k, mask=there, other=-1).to(tl.int32)
                hit = items[None, :] == named[:, None]
                inside = there & (named >= right) & (named < right + SUB)
                tl.store(scores + begin + k, tl.sum(tl.where(hit, mixed, 0.0), 1), mask=inside)


@triton.jit(do_not_specialize=VARYING)
def add_mixed_values(
    rows: tl.tensor,
    first: tl.tensor,
    second: tl.tensor,
    alpha: tl.tensor,
    edges: tl.tensor,
    ranked_edges: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    scores: tl.tensor,
    sums: tl.tensor,
    d: tl.tensor,
    part: tl.tensor,
    parts: tl.tensor,
    scale: tl.tensor,
    EXCLUDE_SELF: tl.constexpr,
    ROWS: tl.constexpr,
    SUB: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Add what is ranked in one pair of blocks to the rank sums, [p]."""
    i = tl.program_id(0)
    j = tl.program_id(1)
    if ((i + j) % parts == part) and (j >= i):
        a = tl.load(edges + i) + tl.arange(0, ROWS)
        b = tl.load(edges + j) + tl.arange(0, ROWS)
        end_i = tl.load(ranked_edges + i + 1)
        end_j = tl.load(ranked_edges + j + 1)
        tile = _tile(
            rows, a, b, tl.load(edges + i + 1), tl.load(edges + j + 1), d, DEPTH, PRECISION
        )
        for left in range(tl.load(ranked_edges + i), end_i, SUB):
            queries = left + tl.arange(0, SUB)
            half = tl.dot(
                _mixing(first, second, alpha, queries, end_i, a), tile, input_precision=PRECISION
            )
            for right in range(tl.load(ranked_edges + j), end_j, SUB):
                items = right + tl.arange(0, SUB)
                weights = _mixing(first, second, alpha, items, end_j, b)
                mixed = tl.dot(half, tl.trans(weights), input_precision=PRECISION)
                add_values_of(
                    mixed,
                    queries,
                    items,
                    scores,
                    first_pair,
                    item_of,
                    sums,
                    sums,
                    sums,
                    end_i,
                    end_j,
                    0.0,
                    scale,
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    True,
                    False,
                    False,
                    EXCLUDE_SELF,
                    False,
                )
                if j > i:
                    add_values_of(
                        tl.trans(mixed),
                        items,
                        queries,
                        scores,
                        first_pair,
                        item_of,
                        sums,
                        sums,
                        sums,
                        end_j,
                        end_i,
                        0.0,
                        scale,
                        0.0,
                        0.0,
                        0.0,
                        0.0,
                        True,
                        False,
                        False,
                        EXCLUDE_SELF,
                        False,
                    )


@triton.jit
def _owed_of(
    queries: tl.tensor,
    items: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    owed: tl.tensor,
    end: tl.tensor,
) -> tl.tensor:
    """Gradient of some ranked rows' similarities from what each pair's own is owed."""
    begin = tl.load(first_pair + queries, mask=queries < end, other=0)
    count = tl.load(first_pair + queries + 1, mask=queries < end, other=0) - begin
    gradient = tl.zeros((queries.shape[0], items.shape[0]), tl.float32)
    for k in range(0, tl.max(count, 0)):
        there = k < count
        named = tl.load(item_of + begin + k, mask=there, other=-1).to(tl.int32)
        amount = tl.load(owed + begin + k, mask=there, other=0.0)
        gradient += tl.where(items[None, :] == named[:, None], amount[:, None], 0.0)
    return gradient


@triton.jit(do_not_specialize=VARYING)
def add_mixed_gradients(
    rows: tl.tensor,
    first: tl.tensor,
    second: tl.tensor,
    alpha: tl.tensor,
    edges: tl.tensor,
    ranked_edges: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    scores: tl.tensor,
    weights: tl.tensor,
    owed: tl.tensor,
    gradient: tl.tensor,
    d: tl.tensor,
    part: tl.tensor,
    parts: tl.tensor,
    scale: tl.tensor,
    peak: tl.tensor,
    OWED: tl.constexpr,
    EXCLUDE_SELF: tl.constexpr,
    ROWS: tl.constexpr,
    SUB: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Add one pair of blocks to the gradient of the originals, [n d], and to what pairs' own similarities are owed.

    With OWED what they are owed is added to the gradient, of a block and itself, and nothing else.
    """
    i = tl.program_id(0)
    j = i if OWED else tl.program_id(1)
    if OWED or (((i + j) % parts == part) and (j >= i)):
        a = tl.load(edges + i) + tl.arange(0, ROWS)
        b = tl.load(edges + j) + tl.arange(0, ROWS)
        stop_a = tl.load(edges + i + 1)
        stop_b = tl.load(edges + j + 1)
        end_i = tl.load(ranked_edges + i + 1)
        end_j = tl.load(ranked_edges + j + 1)
        of_tile = tl.zeros((ROWS, ROWS), tl.float32)
        tile = of_tile if OWED else _tile(rows, a, b, stop_a, stop_b, d, DEPTH, PRECISION)
        for left in range(tl.load(ranked_edges + i), end_i, SUB):
            queries = left + tl.arange(0, SUB)
            mixing = _mixing(first, second, alpha, queries, end_i, a)
            half = tl.dot(mixing, tile, input_precision=PRECISION)
            of_half = tl.zeros((SUB, ROWS), tl.float32)
            for right in range(tl.load(ranked_edges + j), end_j, SUB):
                items = right + tl.arange(0, SUB)
                other = _mixing(first, second, alpha, items, end_j, b)
                if OWED:
                    of_mixed = _owed_of(queries, items, first_pair, item_of, owed, end_i)
                else:
                    mixed = tl.dot(half, tl.trans(other), input_precision=PRECISION)
                    of_mixed = slopes_of(
                        mixed,
                        queries,
                        items,
                        scores,
                        first_pair,
                        item_of,
                        weights,
                        weights,
                        owed,
                        end_i,
                        end_j,
                        0.0,
                        scale,
                        0.0,
                        0.0,
                        peak,
                        True,
                        False,
                        False,
                        EXCLUDE_SELF,
                        False,
                    )
                    if j > i:
                        of_items = slopes_of(
                            tl.trans(mixed),
                            items,
                            queries,
                            scores,
                            first_pair,
                            item_of,
                            weights,
                            weights,
                            owed,
                            end_j,
                            end_i,
                            0.0,
                            scale,
                            0.0,
                            0.0,
                            peak,
                            True,
                            False,
                            False,
                            EXCLUDE_SELF,
                            False,
                        )
                        of_mixed += tl.trans(of_items)
                of_half = tl.dot(of_mixed, other, of_half, input_precision=PRECISION)
            of_tile = tl.dot(tl.trans(mixing), of_half, of_tile, input_precision=PRECISION)
        for start in range(0, d, DEPTH):
            depth = start + tl.arange(0, DEPTH)
            of_a = rows_of(rows, a, a < stop_a, depth, d)
            of_b = rows_of(rows, b, b < stop_b, depth, d)
            add_rows(
                gradient, a, a < stop_a, depth, d, tl.dot(of_tile, of_b, input_precision=PRECISION)
            )
            add_rows(
                gradient,
                b,
                b < stop_b,
                depth,
                d,
                tl.dot(tl.trans(of_tile), of_a, input_precision=PRECISION),
            )
