"""Rank sums in Triton: a program computes one tile of similarities and uses it up. Importing this file imports Triton.

Pairs come ordered by query: those of row a are `first_pair[a] .. first_pair[a + 1]`, and `item_of` says which item each
one names. Where a batch is ranked among itself, a tile above the diagonal serves its rows as queries and, transposed,
its columns. Products are accumulated in float32; PRECISION says how their float32 factors are multiplied.

A positive's own similarity has to tie with that of an equal item to the last bit, though split products may depend on
which factor stands left. `scores` therefore holds it twice: with the query on the left, and then on the right.

A step is six numbers, `lab.kernels.layout.Shape`. Of several processes each computes every `parts`-th diagonal.
"""

from __future__ import annotations

import triton
import triton.language as tl

ROWS = 64
"""Rows and columns of a tile."""

DEPTH = 32
"""Dimensions that are multiplied at a time, and whose gradient is computed at a time."""

WARPS = 4
"""Groups of 32 threads a program. Of nine sizes tried on an H100 these tiles with four were quickest: n = 16,384 took
24 and 32 ms (recall_at_k, smooth_ap), 36 and 42 with eight."""

VARYING = ["pairs", "q", "r", "part", "parts"]
"""Numbers that change from batch to batch: kernels are not compiled anew for each kind of them."""


@triton.jit
def rows_of(
    matrix: tl.tensor, rows: tl.tensor, there: tl.tensor, depth: tl.tensor, d: tl.tensor
) -> tl.tensor:
    """Some dimensions of some rows of a matrix [n d], zero where there is nothing."""
    return tl.load(
        matrix + rows.to(tl.int64)[:, None] * d + depth[None, :],
        mask=there[:, None] & (depth < d)[None, :],
        other=0.0,
    )


@triton.jit
def add_rows(
    matrix: tl.tensor,
    rows: tl.tensor,
    there: tl.tensor,
    depth: tl.tensor,
    d: tl.tensor,
    some: tl.tensor,
) -> None:
    """Add to some dimensions of some rows of a matrix [n d], where there is something."""
    places = matrix + rows.to(tl.int64)[:, None] * d + depth[None, :]
    tl.atomic_add(places, some, mask=there[:, None] & (depth < d)[None, :], sem="relaxed")


@triton.jit
def product(
    left: tl.tensor,
    a: tl.tensor,
    of_a: tl.tensor,
    right: tl.tensor,
    b: tl.tensor,
    of_b: tl.tensor,
    d: tl.tensor,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """Dot products of rows a with rows b, [a b]."""
    tile = tl.zeros((a.shape[0], b.shape[0]), tl.float32)
    for start in range(0, d, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        one = rows_of(left, a, of_a, depth, d)
        other = rows_of(right, b, of_b, depth, d)
        tile = tl.dot(one, tl.trans(other), tile, input_precision=PRECISION)
    return tile


@triton.jit
def _value(
    gap: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    after: tl.tensor,
    start: tl.tensor,
    LIFTED: tl.constexpr,
) -> tl.tensor:
    e = tl.exp2(-tl.abs(gap) * scale)
    v = tl.where(gap >= 0, 1.0, e) / (1.0 + e)
    if LIFTED:
        v = tl.where(gap > 0, v + start, v)
        v = tl.where(gap > delta, rho * (gap - delta) + after, v)
    return v


@triton.jit
def _slope(
    gap: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    peak: tl.tensor,
    LIFTED: tl.constexpr,
) -> tl.tensor:
    e = tl.exp2(-tl.abs(gap) * scale)
    v = e / ((1.0 + e) * (1.0 + e)) * peak
    if LIFTED:
        v = tl.where(gap > delta, rho, v)
    return v


@triton.jit
def _ranked(
    rows: tl.tensor,
    columns: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    begin: tl.tensor,
    count: tl.tensor,
    item_of: tl.tensor,
    EXCLUDE_SELF: tl.constexpr,
    AGAINST: tl.constexpr,
) -> tl.tensor:
    """Which items of a tile are ranked for which queries."""
    ranked = (rows < q)[:, None] & (columns < r)[None, :]
    if EXCLUDE_SELF:
        ranked = ranked & (rows[:, None] != columns[None, :])
    if AGAINST:
        for k in range(0, tl.max(count, 0)):
            named = tl.load(item_of + begin + k, mask=k < count, other=-1)
            ranked = ranked & (columns[None, :] != named[:, None])
    return ranked


@triton.jit
def add_values_of(
    tile: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    scores: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    sums: tl.tensor,
    excess: tl.tensor,
    violations: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    margin: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    after: tl.tensor,
    start: tl.tensor,
    RANKS: tl.constexpr,
    LIFTED: tl.constexpr,
    EXCESS: tl.constexpr,
    EXCLUDE_SELF: tl.constexpr,
    AGAINST: tl.constexpr,
) -> None:
    """Add the columns of a tile to the rank sums, and to the excess, of its rows."""
    begin = tl.load(first_pair + rows, mask=rows < q, other=0)
    count = tl.load(first_pair + rows + 1, mask=rows < q, other=0) - begin
    ranked = _ranked(rows, columns, q, r, begin, count, item_of, EXCLUDE_SELF, AGAINST)
    if RANKS:
        for k in range(0, tl.max(count, 0)):
            there = k < count
            similarity = tl.load(scores + begin + k, mask=there, other=0.0)
            # As int64 it leads Triton 3.6's `remove layout conversions` to a load that its own checks refuse.
            named = tl.load(item_of + begin + k, mask=there, other=-1).to(tl.int32)
            counted = ranked & there[:, None] & (columns[None, :] != named[:, None])
            value = _value(tile - similarity[:, None], scale, delta, rho, after, start, LIFTED)
            tl.atomic_add(
                sums + begin + k,
                tl.sum(tl.where(counted, value, 0.0), 1),
                mask=there,
                sem="relaxed",
            )
    if EXCESS:
        over = ranked & (tile > margin)
        tl.atomic_add(
            excess + rows,
            tl.sum(tl.where(over, tile - margin, 0.0), 1),
            mask=rows < q,
            sem="relaxed",
        )
        tl.atomic_add(
            violations + rows, tl.sum(tl.where(over, 1.0, 0.0), 1), mask=rows < q, sem="relaxed"
        )


@triton.jit
def slopes_of(
    tile: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    scores: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    weights: tl.tensor,
    excess_weights: tl.tensor,
    owed: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    margin: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    peak: tl.tensor,
    RANKS: tl.constexpr,
    LIFTED: tl.constexpr,
    EXCESS: tl.constexpr,
    EXCLUDE_SELF: tl.constexpr,
    AGAINST: tl.constexpr,
) -> tl.tensor:
    """Gradient of a tile's similarities from its rows as queries; what each positive's own is owed is added up."""
    begin = tl.load(first_pair + rows, mask=rows < q, other=0)
    count = tl.load(first_pair + rows + 1, mask=rows < q, other=0) - begin
    ranked = _ranked(rows, columns, q, r, begin, count, item_of, EXCLUDE_SELF, AGAINST)
    gradient = tl.zeros_like(tile)
    if RANKS:
        for k in range(0, tl.max(count, 0)):
            there = k < count
            similarity = tl.load(scores + begin + k, mask=there, other=0.0)
            weight = tl.load(weights + begin + k, mask=there, other=0.0)
            named = tl.load(item_of + begin + k, mask=there, other=-1).to(tl.int32)  # as above
            counted = ranked & there[:, None] & (columns[None, :] != named[:, None])
            slope = (
                _slope(tile - similarity[:, None], scale, delta, rho, peak, LIFTED)
                * weight[:, None]
            )
            slope = tl.where(counted, slope, 0.0)
            gradient += slope
            tl.atomic_add(owed + begin + k, -tl.sum(slope, 1), mask=there, sem="relaxed")
    if EXCESS:
        of_excess = tl.load(excess_weights + rows, mask=rows < q, other=0.0)
        gradient += tl.where(ranked & (tile > margin), of_excess[:, None], 0.0)
    return gradient


@triton.jit(do_not_specialize=VARYING[:3])
def listed_similarities(
    queries: tl.tensor,
    items: tl.tensor,
    query_of: tl.tensor,
    item_of: tl.tensor,
    scores: tl.tensor,
    pairs: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    d: tl.tensor,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Dot product of each pair, into scores [2 p]: the diagonal of a tile, so that it is rounded as the tiles are."""
    places = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = places < pairs
    a = tl.load(query_of + places, mask=there, other=0)
    b = tl.load(item_of + places, mask=there, other=0)
    line = tl.arange(0, ROWS)
    diagonal = line[:, None] == line[None, :]
    tile = product(queries, a, there, items, b, there, d, DEPTH, PRECISION)
    tl.store(scores + places, tl.sum(tl.where(diagonal, tile, 0.0), 1), mask=there)
    tile = product(items, b, there, queries, a, there, d, DEPTH, PRECISION)
    tl.store(scores + pairs + places, tl.sum(tl.where(diagonal, tile, 0.0), 1), mask=there)


@triton.jit(do_not_specialize=VARYING)
def add_values(
    queries: tl.tensor,
    items: tl.tensor,
    scores: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    sums: tl.tensor,
    excess: tl.tensor,
    violations: tl.tensor,
    pairs: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    d: tl.tensor,
    part: tl.tensor,
    parts: tl.tensor,
    margin: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    after: tl.tensor,
    start: tl.tensor,
    RANKS: tl.constexpr,
    LIFTED: tl.constexpr,
    EXCESS: tl.constexpr,
    EXCLUDE_SELF: tl.constexpr,
    AGAINST: tl.constexpr,
    ONE_SET: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Add one tile to the rank sums [p], the excess [q] and the violations [q]."""
    i = tl.program_id(0)
    j = tl.program_id(1)
    if ((i + j) % parts == part) and ((not ONE_SET) or j >= i):
        rows = i * ROWS + tl.arange(0, ROWS)
        columns = j * ROWS + tl.arange(0, ROWS)
        tile = product(queries, rows, rows < q, items, columns, columns < r, d, DEPTH, PRECISION)
        add_values_of(
            tile,
            rows,
            columns,
            scores,
            first_pair,
            item_of,
            sums,
            excess,
            violations,
            q,
            r,
            margin,
            scale,
            delta,
            rho,
            after,
            start,
            RANKS,
            LIFTED,
            EXCESS,
            EXCLUDE_SELF,
            AGAINST,
        )
        if ONE_SET:  # noqa: SIM102 - one is known when compiling, the other is not
            if j > i:
                add_values_of(
                    tl.trans(tile),
                    columns,
                    rows,
                    scores + pairs,
                    first_pair,
                    item_of,
                    sums,
                    excess,
                    violations,
                    q,
                    r,
                    margin,
                    scale,
                    delta,
                    rho,
                    after,
                    start,
                    RANKS,
                    LIFTED,
                    EXCESS,
                    EXCLUDE_SELF,
                    AGAINST,
                )


@triton.jit(do_not_specialize=VARYING)
def add_gradients(
    queries: tl.tensor,
    items: tl.tensor,
    scores: tl.tensor,
    first_pair: tl.tensor,
    item_of: tl.tensor,
    weights: tl.tensor,
    excess_weights: tl.tensor,
    owed: tl.tensor,
    query_grad: tl.tensor,
    item_grad: tl.tensor,
    pairs: tl.tensor,
    q: tl.tensor,
    r: tl.tensor,
    d: tl.tensor,
    part: tl.tensor,
    parts: tl.tensor,
    margin: tl.tensor,
    scale: tl.tensor,
    delta: tl.tensor,
    rho: tl.tensor,
    peak: tl.tensor,
    RANKS: tl.constexpr,
    LIFTED: tl.constexpr,
    EXCESS: tl.constexpr,
    EXCLUDE_SELF: tl.constexpr,
    AGAINST: tl.constexpr,
    ONE_SET: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Add one tile's share to the gradients of its rows and columns; owed [p] is what own similarities still get."""
    i = tl.program_id(0)
    j = tl.program_id(1)
    if ((i + j) % parts == part) and ((not ONE_SET) or j >= i):
        rows = i * ROWS + tl.arange(0, ROWS)
        columns = j * ROWS + tl.arange(0, ROWS)
        tile = product(queries, rows, rows < q, items, columns, columns < r, d, DEPTH, PRECISION)
        gradient = slopes_of(
            tile,
            rows,
            columns,
            scores,
            first_pair,
            item_of,
            weights,
            excess_weights,
            owed,
            q,
            r,
            margin,
            scale,
            delta,
            rho,
            peak,
            RANKS,
            LIFTED,
            EXCESS,
            EXCLUDE_SELF,
            AGAINST,
        )
        if ONE_SET:  # noqa: SIM102 - one is known when compiling, the other is not
            if j > i:
                of_columns = slopes_of(
                    tl.trans(tile),
                    columns,
                    rows,
                    scores + pairs,
                    first_pair,
                    item_of,
                    weights,
                    excess_weights,
                    owed,
                    q,
                    r,
                    margin,
                    scale,
                    delta,
                    rho,
                    peak,
                    RANKS,
                    LIFTED,
                    EXCESS,
                    EXCLUDE_SELF,
                    AGAINST,
                )
                gradient += tl.trans(of_columns)
        for first in range(0, d, DEPTH):
            depth = first + tl.arange(0, DEPTH)
            of_rows = rows_of(queries, rows, rows < q, depth, d)
            of_columns = rows_of(items, columns, columns < r, depth, d)
            add_rows(
                query_grad,
                rows,
                rows < q,
                depth,
                d,
                tl.dot(gradient, of_columns, input_precision=PRECISION),
            )
            of_items = tl.dot(tl.trans(gradient), of_rows, input_precision=PRECISION)
            add_rows(item_grad, columns, columns < r, depth, d, of_items)
