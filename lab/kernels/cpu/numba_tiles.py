"""Element-wise work on one tile of similarities, compiled by numba. Importing this file imports numba.

Slots (one per positive pair) are laid out in jagged diagonals: queries are sorted by descending number of positives,
and the k-th positives of all queries with more than k positives are contiguous in memory, at `base[k] + query`. So a
tile is read once along its rows and once along its columns, both in whole vectors and without padding.

A step function is six numbers, `lab.kernels.layout.Shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from lab.kernels.layout import NEVER

F = np.float32

GROUP = 16
"""Positives that share one pass over a tile's columns; their totals stay in the L1 cache."""

# Sums may be reordered and products fused; NaN and infinity never enter a tile. Without numpy's error model every
# division is followed by a check that keeps the loop from becoming vector code.
OPTIONS = dict(
    error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz", "nnan", "ninf"}, nogil=True
)


def compiled_with(**options: Any) -> Callable[[Callable], Callable]:
    """Decorate a function: compile it on first use, and cache the machine code on disk if a folder can be written."""

    def compile(function: Callable) -> Callable:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder to write to
            return njit(**options)(function)

    return compile


compiled = compiled_with(**OPTIONS)


@intrinsic
def _nearest(typing: Any, x: Any) -> tuple:
    """Round to the nearest whole number, in one instruction that fast-math does not optimise away."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.call(
            builder.module.declare_intrinsic("llvm.rint", [ir.FloatType()]), arguments
        )

    return types.float32(types.float32), build


@intrinsic
def _whole(typing: Any, x: Any) -> tuple:
    """Convert a whole number to int32."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.fptosi(arguments[0], ir.IntType(32))

    return types.int32(types.float32), build


@intrinsic
def _fused(typing: Any, x: Any, y: Any, z: Any) -> tuple:
    """Compute x y + z, rounded once."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), build


@intrinsic
def _power_of_two(typing: Any, p: Any, n: Any) -> tuple:
    """Compute p 2^n for p in [0.5, 2] and |n| < 126."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        bits = builder.bitcast(arguments[0], ir.IntType(32))
        return builder.bitcast(
            builder.add(bits, builder.shl(arguments[1], ir.Constant(ir.IntType(32), 23))),
            ir.FloatType(),
        )

    return types.float32(types.float32, types.int32), build


@intrinsic
def _power(typing: Any, p: Any, q: Any, m: Any, n: Any, most: Any) -> tuple:
    """Compute p q 2^(m + n) for p q in [0.5, 2], with the exponent limited to +-most."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        p, q, m, n, most = arguments
        exponent = builder.add(m, n)
        for beyond, end in (("<", builder.neg(most)), (">", most)):
            exponent = builder.select(builder.icmp_signed(beyond, exponent, end), end, exponent)
        bits = builder.bitcast(builder.fmul(p, q), ir.IntType(32))
        return builder.bitcast(
            builder.add(bits, builder.shl(exponent, ir.Constant(ir.IntType(32), 23))),
            ir.FloatType(),
        )

    return types.float32(types.float32, types.float32, types.int32, types.int32, types.int32), build


def _chosen(name: str) -> Callable:
    """Return the larger or the smaller of two numbers in one instruction; an if statement takes six times as long."""

    @intrinsic
    def choose(typing: Any, x: Any, y: Any) -> tuple:
        def build(
            context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
        ) -> ir.Value:
            kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2)
            function = builder.module.declare_intrinsic(name, [ir.FloatType()], kind)
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return types.float32(types.float32, types.float32), build

    return choose


_larger = _chosen("llvm.maxnum")
_smaller = _chosen("llvm.minnum")

FAR = np.int32(60)
"""Exponent at which 1 + e is e or one, and the square of e still finite."""

LARGEST = F(2.0**60)

WIDE_ITEM = np.int32(125)
"""Exponent at which an item's factor is cut where positives' are within 2^+-(125 - what still counts)."""


@intrinsic
def _capped(typing: Any, u: Any, w: Any) -> tuple:
    """Multiply two positive numbers, limited to LARGEST; the intermediate product may overflow."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2)
        least = builder.module.declare_intrinsic("llvm.minnum", [ir.FloatType()], kind)
        largest = ir.Constant(ir.FloatType(), float(LARGEST))
        return builder.call(least, [builder.fmul(*arguments), largest], fastmath=("nnan", "nsz"))

    return types.float32(types.float32, types.float32), build


@njit(inline="always", **OPTIONS)
def _cut(x: F) -> F:
    """Limit x to the whole numbers that both int32 and float32 represent."""
    return _smaller(_larger(x, F(-1e6)), F(1e6))


@njit(inline="always", **OPTIONS)
def _exp2_part(part: F) -> F:
    """Compute 2^part for |part| <= 0.5, with a relative error below 2e-7."""
    p = F(1.5403530e-4)
    p = p * part + F(1.3333558e-3)
    p = p * part + F(9.6181291e-3)
    p = p * part + F(5.5504109e-2)
    p = p * part + F(2.4022651e-1)
    p = p * part + F(6.9314718e-1)
    return p * part + F(1)


@njit(inline="always", **OPTIONS)
def _split(x: F, power: np.ndarray, exponent: np.ndarray, z: int) -> None:
    """Write 2^x as power 2^exponent at place z."""
    x = _cut(x)
    whole = _nearest(x)
    power[z] = _exp2_part(x - whole)
    exponent[z] = _whole(whole)


@njit(inline="always", **OPTIONS)
def _exp2(x: F, most: int) -> F:
    """Compute 2^x, with the exponent limited to +-most."""
    x = _cut(x)
    whole = _nearest(x)
    return _power(_exp2_part(x - whole), F(1), _whole(whole), np.int32(0), most)


@compiled
def survey(
    tile: np.ndarray,
    i0: int,
    j0: int,
    low: np.ndarray,
    high: np.ndarray,
    margin: F,
    both: bool,
    top: np.ndarray,
    column_alive: np.ndarray,
) -> int:
    """Count the entries that carry a gradient, for the row's query or the column's. Find each row's largest similarity
    and, with `both`, whether it reaches the lower limit of some column's query.

    low, high: [n], limits between which a query's gradient does not vanish; above `margin` it never vanishes.
    """
    rows, columns = tile.shape
    active = 0
    low_j = low[j0 : j0 + columns]
    high_j = high[j0 : j0 + columns]
    for a in range(rows):
        bottom = low[i0 + a]
        ceiling = high[i0 + a]
        line = tile[a]
        inside = F(0)
        largest = F(-1e30)
        above = F(-1e30)
        for z in range(columns):
            s = line[z]
            over = s - low_j[z]
            largest = _larger(largest, s)
            above = _larger(above, over)
            depth = _larger(_smaller(s - bottom, ceiling - s), _smaller(over, high_j[z] - s))
            inside += F(1) if _larger(depth, s - margin) >= F(0) else F(0)
        active += int(inside)
        top[a] = largest
        column_alive[a] = both and above >= F(0)
    return active


@compiled
def lowest_of_columns(
    scores: np.ndarray,
    base: np.ndarray,
    first: int,
    last: int,
    j0: int,
    columns: int,
    lowest: np.ndarray,
) -> None:
    """Write the smallest of the columns' k-th slots to `lowest`, for k from `first` to `last`."""
    for k in range(first, last):
        smallest = F(1e30)
        for slot in range(base[k] + j0, base[k] + j0 + min(columns, base[k + 1] - base[k] - j0)):
            smallest = scores[slot] if scores[slot] < smallest else smallest
        lowest[k - first] = smallest


@compiled
def reached_by_row(
    scores: np.ndarray, base: np.ndarray, first: int, last: int, i: int, ceiling: F
) -> int:
    """Find the first of row i's ascending slots, from `first` to `last`, that is above a ceiling."""
    k = first
    while k < last and scores[base[k] + i] <= ceiling:
        k += 1
    return k


@compiled
def reached_by_columns(lowest: np.ndarray, first: int, last: int, ceiling: F) -> int:
    """Find the first k whose smallest slot, given in a list, is above a ceiling."""
    k = first
    while k < last and lowest[k - first] <= ceiling:
        k += 1
    return k


@njit(inline="always", **OPTIONS)
def _add_scaled(target: np.ndarray, factor: F, row: np.ndarray) -> None:
    for c in range(len(row)):
        target[c] += factor * row[c]


# What follows uses sigma((s - t) / tau) = 1 / (1 + u w), where u = e^-(s - c)/tau is shared by all positives of both
# sides and w = e^(t - c)/tau by all items, c being any number amid the similarities: one exponential a similarity and
# one reciprocal a comparison. Powers and exponents are kept apart, so that no gap is too wide, unless they need not be.
#
# lifted: None for a sigmoid, True for H-. narrow: True where all w are so near one that a u cut to 2^+-WIDE_ITEM is as
# good as zero or infinite beside any of them, else None. They are None and not False because numba compiles a function
# anew for None, without the branches that it rules out, and keeps it on disk, which it does not for closures.


@njit(inline="always", **OPTIONS)
def _factor(
    gap: F, scale: F, power: np.ndarray, exponent: np.ndarray, z: int, narrow: bool | None
) -> None:
    """Write 2^(gap scale) at place z."""
    if narrow is None:
        _split(gap * scale, power, exponent, z)
    else:
        gap = _smaller(_larger(gap, -F(WIDE_ITEM) / scale), F(WIDE_ITEM) / scale)
        whole = _nearest(gap * scale)
        power[z] = _power_of_two(_exp2_part(_fused(gap, scale, -whole)), _whole(whole))


@njit(inline="always", **OPTIONS)
def _times(u: F, w: F, n: int, m: int, narrow: bool | None) -> F:
    """Multiply two factors, limited to LARGEST."""
    return _power(u, w, n, m, FAR) if narrow is None else _capped(u, w)


@njit(inline="always", **OPTIONS)
def _value(gap: F, e: F, delta: F, rho: F, after: F, start: F, lifted: bool | None) -> F:
    v = F(1) / (F(1) + e)
    if lifted is not None:
        v = v + start if gap > F(0) else v
        v = rho * (gap - delta) + after if gap > delta else v
    return v


@njit(inline="always", **OPTIONS)
def _slope(gap: F, e: F, delta: F, rho: F, peak: F, lifted: bool | None) -> F:
    r = F(1) / (F(1) + e)
    v = (e * r) * r * peak
    if lifted is not None:
        v = rho if gap > delta else v
    return v


CACHE_LINE = 16
"""Numbers of a line of the cache."""


@njit(inline="always", **OPTIONS)
def _lines(count: int, columns: int) -> np.ndarray:
    """Room for lines of so many numbers, float32 [count length], each from the start of a line of the cache on: of the
    vectors of a line that starts elsewhere, as in numba's own memory it may, some or all lie across two."""
    length = (columns + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
    room = np.empty(count * length + CACHE_LINE, np.float32)
    start = -(room.ctypes.data // 4) % CACHE_LINE
    return room[start : start + count * length].reshape(count, length)


@njit(inline="always", **OPTIONS)
def _room(columns: int) -> tuple[np.ndarray, ...]:
    """Allocate powers and exponents of a line, and totals, similarities, powers and exponents of column positives."""
    n = _lines(1, columns)[0].view(np.int32)
    m = _lines(GROUP, columns).view(np.int32)
    return (
        _lines(1, columns)[0],
        n,
        _lines(GROUP, columns),
        _lines(GROUP, columns),
        _lines(GROUP, columns),
        m,
    )


@njit(inline="always", **OPTIONS)
def _take_columns(
    source: np.ndarray,
    base: np.ndarray,
    first: int,
    last: int,
    j0: int,
    columns: int,
    into: np.ndarray,
) -> None:
    """Copy the columns' k-th slots to line k - first, for k from `first` to `last`."""
    for k in range(first, last):
        for z in range(min(columns, base[k + 1] - base[k] - j0)):
            into[k - first, z] = source[base[k] + j0 + z]


@njit(inline="always", **OPTIONS)
def _add_columns(
    lines: np.ndarray,
    base: np.ndarray,
    first: int,
    last: int,
    j0: int,
    columns: int,
    into: np.ndarray,
) -> None:
    """Add the same lines to the slots."""
    for k in range(first, last):
        for z in range(min(columns, base[k + 1] - base[k] - j0)):
            into[base[k] + j0 + z] += lines[k - first, z]


@compiled
def add_values(
    tile: np.ndarray,
    i0: int,
    j0: int,
    scores: np.ndarray,
    power: np.ndarray,
    exponent: np.ndarray,
    centre: F,
    base: np.ndarray,
    counts: np.ndarray,
    top: np.ndarray,
    column_alive: np.ndarray,
    cutoff: F,
    both: bool,
    sums: np.ndarray,
    shape: tuple,
    lifted: bool | None,
    narrow: bool | None,
) -> None:
    """Add the items of a tile to the rank sums of the row queries and, with `both`, of the column queries."""
    scale, delta, rho, after, start, _ = shape
    rows, columns = tile.shape
    (u, n, totals, t_of, w_of, m_of), lowest = _room(columns), np.empty(GROUP, np.float32)
    most = max(counts[i0], counts[j0])
    for first in range(0, most, GROUP):
        totals[:] = F(0)
        last_column = min(first + GROUP, counts[j0]) if both else first
        lowest_of_columns(scores, base, first, last_column, j0, columns, lowest)
        _take_columns(scores, base, first, last_column, j0, columns, t_of)
        _take_columns(power, base, first, last_column, j0, columns, w_of)
        _take_columns(exponent, base, first, last_column, j0, columns, m_of)
        for a in range(rows):
            ceiling = top[a] + cutoff
            last_row = reached_by_row(
                scores, base, first, min(first + GROUP, counts[i0 + a]), i0 + a, ceiling
            )
            last_above = (
                reached_by_columns(lowest, first, last_column, ceiling)
                if column_alive[a]
                else first
            )
            if first < max(last_row, last_above):
                for z in range(columns):
                    _factor(centre - tile[a, z], scale, u, n, z, narrow)
            for k in range(first, last_row):
                slot = base[k] + i0 + a
                t = scores[slot]
                w = power[slot]
                m = exponent[slot]
                total = F(0)
                for z in range(columns):
                    total += _value(
                        tile[a, z] - t,
                        _times(u[z], w, n[z], m, narrow),
                        delta,
                        rho,
                        after,
                        start,
                        lifted,
                    )
                sums[slot] += total
            for k in range(first, last_above):
                width = min(columns, base[k + 1] - base[k] - j0)
                t = t_of[k - first]
                w = w_of[k - first]
                m = m_of[k - first]
                line = totals[k - first]
                for z in range(width):
                    line[z] += _value(
                        tile[a, z] - t[z],
                        _times(u[z], w[z], n[z], m[z], narrow),
                        delta,
                        rho,
                        after,
                        start,
                        lifted,
                    )
        _add_columns(totals, base, first, last_column, j0, columns, sums)


@compiled
def add_slopes(
    tile: np.ndarray,
    gradient: np.ndarray,
    i0: int,
    j0: int,
    scores: np.ndarray,
    power: np.ndarray,
    exponent: np.ndarray,
    centre: F,
    weights: np.ndarray,
    base: np.ndarray,
    counts: np.ndarray,
    top: np.ndarray,
    column_alive: np.ndarray,
    cutoff: F,
    both: bool,
    owed: np.ndarray,
    shape: tuple,
    margin: F,
    excess_weights: np.ndarray,
    lifted: bool | None,
    narrow: bool | None,
) -> None:
    """Compute the gradient of the tile's similarities, and that of each positive's own similarity.

    The gradient of the excess over the margin is added. Without `both` the gradient may overwrite the tile.
    """
    (scale, delta, rho, _, _, peak), (rows, columns) = shape, tile.shape
    (u, n, totals, t_of, w_of, m_of), lowest = _room(columns), np.empty(GROUP, np.float32)
    line = _lines(1, columns)[0][:columns]
    weight_of = _lines(GROUP, columns)
    most = max(counts[i0], counts[j0], 1)  # without a positive there is the excess all the same
    group = GROUP if both else most
    for first in range(0, most, group):
        totals[:] = F(0)
        last_column = min(first + GROUP, counts[j0]) if both else first
        lowest_of_columns(scores, base, first, last_column, j0, columns, lowest)
        _take_columns(scores, base, first, last_column, j0, columns, t_of)
        _take_columns(power, base, first, last_column, j0, columns, w_of)
        _take_columns(exponent, base, first, last_column, j0, columns, m_of)
        _take_columns(weights, base, first, last_column, j0, columns, weight_of)
        for a in range(rows):
            ceiling = top[a] + cutoff
            last_row = reached_by_row(
                scores, base, first, min(first + group, counts[i0 + a]), i0 + a, ceiling
            )
            last_above = (
                reached_by_columns(lowest, first, last_column, ceiling)
                if column_alive[a]
                else first
            )
            line[:] = F(0)
            if first < max(last_row, last_above):
                for z in range(columns):
                    _factor(centre - tile[a, z], scale, u, n, z, narrow)
            for k in range(first, last_row):
                slot = base[k] + i0 + a
                t = scores[slot]
                w = power[slot]
                m = exponent[slot]
                weight = weights[slot]
                total = F(0)
                for z in range(columns):
                    v = weight * _slope(
                        tile[a, z] - t, _times(u[z], w, n[z], m, narrow), delta, rho, peak, lifted
                    )
                    line[z] += v
                    total += v
                owed[slot] += total
            for k in range(first, last_above):
                width = min(columns, base[k + 1] - base[k] - j0)
                t = t_of[k - first]
                w = w_of[k - first]
                m = m_of[k - first]
                weight = weight_of[k - first]
                total_line = totals[k - first]
                for z in range(width):
                    v = weight[z] * _slope(
                        tile[a, z] - t[z],
                        _times(u[z], w[z], n[z], m[z], narrow),
                        delta,
                        rho,
                        peak,
                        lifted,
                    )
                    line[z] += v
                    total_line[z] += v
            if first == 0 and margin < NEVER:
                of_row = excess_weights[i0 + a]
                for z in range(columns):
                    g = of_row + (excess_weights[j0 + z] if both else F(0))
                    line[z] += g if tile[a, z] > margin else F(0)
            # written out: numba takes seconds to compile the assignment of a whole line
            for z in range(columns):
                gradient[a, z] = line[z] + (gradient[a, z] if first else F(0))
        _add_columns(totals, base, first, last_column, j0, columns, owed)


@compiled
def spread_listed(
    places: np.ndarray,
    similarities: np.ndarray,
    columns: int,
    i0: int,
    j0: int,
    scores: np.ndarray,
    weights: np.ndarray,
    base: np.ndarray,
    counts: np.ndarray,
    margin: F,
    excess_weights: np.ndarray,
    owed: np.ndarray,
    shape: tuple,
    row_at: np.ndarray,
    rows: np.ndarray,
    grad: np.ndarray,
    lifted: bool | None,
) -> None:
    """Do the work of `add_slopes` and of the two products after it for the listed entries of a tile only.

    rows: [n d], as `Tiles.rows`; row_at: [n], as `Tiles.row_at`; grad: [n d], by place.
    """
    scale, delta, rho, _, _, peak = shape
    for place in range(len(places)):
        i = i0 + places[place] // columns
        j = j0 + places[place] % columns
        s = similarities[place]
        g = excess_weights[i] + (excess_weights[j] if i != j else F(0)) if s > margin else F(0)
        for k in range(counts[i]):
            gap = s - scores[base[k] + i]
            v = weights[base[k] + i] * _slope(
                gap, _exp2(-gap * scale, FAR), delta, rho, peak, lifted
            )
            owed[base[k] + i] += v
            g += v
        if i != j:
            for k in range(counts[j]):
                gap = s - scores[base[k] + j]
                v = weights[base[k] + j] * _slope(
                    gap, _exp2(-gap * scale, FAR), delta, rho, peak, lifted
                )
                owed[base[k] + j] += v
                g += v
        _add_scaled(grad[i], g, rows[row_at[j]])
        _add_scaled(grad[j], g, rows[row_at[i]])


@compiled
def collect(
    tile: np.ndarray,
    i0: int,
    j0: int,
    low: np.ndarray,
    high: np.ndarray,
    margin: F,
    both: bool,
    places: np.ndarray,
    similarities: np.ndarray,
) -> int:
    """List the entries that carry a gradient (position in the tile and similarity), and return their number; without
    `both` only those of the upper triangle, because the lower one is its mirror image."""
    rows, columns = tile.shape
    count = 0
    for a in range(rows):
        bottom = low[i0 + a]
        ceiling = high[i0 + a]
        for z in range(0 if both else a, columns):
            s = tile[a, z]
            if s >= margin or bottom <= s <= ceiling or low[j0 + z] <= s <= high[j0 + z]:
                places[count] = a * columns + z
                similarities[count] = s
                count += 1
    return count


@compiled
def add_excess(
    tile: np.ndarray,
    i0: int,
    j0: int,
    margin: F,
    both: bool,
    excess: np.ndarray,
    violations: np.ndarray,
) -> None:
    """Sum by how much similarities exceed the margin, and count them, for the row and the column queries."""
    rows, columns = tile.shape
    sum_line = np.zeros(columns, np.float32)
    count_line = np.zeros(columns, np.float32)
    for a in range(rows):
        total = F(0)
        count = F(0)
        for z in range(columns):
            over = tile[a, z] - margin
            v, c = (over, F(1)) if over > F(0) else (F(0), F(0))
            total += v
            count += c
            sum_line[z] += v
            count_line[z] += c
        excess[i0 + a] += total
        violations[i0 + a] += count
    if both:
        for z in range(columns):
            excess[j0 + z] += sum_line[z]
            violations[j0 + z] += count_line[z]


@compiled
def spread_pairs(
    first: np.ndarray,
    second: np.ndarray,
    weights: np.ndarray,
    row_at: np.ndarray,
    rows: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Add to the gradient of both rows of every pair the weighted row of the other."""
    for p in range(len(first)):
        i = first[p]
        j = second[p]
        g = F(weights[p])
        _add_scaled(gradient[i], g, rows[row_at[j]])
        _add_scaled(gradient[j], g, rows[row_at[i]])


@compiled
def mix(
    tile: np.ndarray,
    x_i: np.ndarray,
    z_i: np.ndarray,
    alpha_i: np.ndarray,
    x_j: np.ndarray,
    z_j: np.ndarray,
    alpha_j: np.ndarray,
    half: np.ndarray,
    mixed: np.ndarray,
) -> None:
    """Compute the similarities of mixtures from those of their parents: columns into `half`, then rows into `mixed`."""
    for a in range(tile.shape[0]):
        for j in range(len(x_j)):
            half[a, j] = alpha_j[j] * tile[a, x_j[j]] + (F(1) - alpha_j[j]) * tile[a, z_j[j]]
    for i in range(len(x_i)):
        x = x_i[i]
        z = z_i[i]
        alpha = alpha_i[i]
        for j in range(len(x_j)):
            mixed[i, j] = alpha * half[x, j] + (F(1) - alpha) * half[z, j]


@compiled
def unmix_rows(
    mixed: np.ndarray, first: np.ndarray, second: np.ndarray, alpha: np.ndarray, matrix: np.ndarray
) -> None:
    """Compute the gradient of the parents' rows, [h c], from that of their mixtures, [r c]."""
    matrix[:] = F(0)
    for k in range(len(first)):
        _add_scaled(matrix[first[k]], alpha[k], mixed[k])
        _add_scaled(matrix[second[k]], F(1) - alpha[k], mixed[k])


@compiled
def scatter_rows(rows: np.ndarray, target: np.ndarray) -> None:
    """Move row k to row target[k], for all k at once and in place; target is a permutation."""
    moved = np.zeros(len(target), np.bool_)
    held = np.empty(rows.shape[1], np.float32)
    next_held = np.empty(rows.shape[1], np.float32)
    for start in range(len(target)):
        if not moved[start]:
            held[:] = rows[start]
            k = start
            while not moved[k]:
                to = target[k]
                next_held[:] = rows[to]
                rows[to] = held
                held, next_held = next_held, held
                moved[k] = True
                k = to
