"""Element-wise work on one tile of similarities, compiled by numba. Importing this file imports numba.

Slots are laid out in jagged diagonals: queries stand in order of falling number of positives, and the k-th positives of
all queries that have more than k of them are neighbours in memory, at `base[k] + query`. So a tile is read once along
its rows for the row side and once for the column side, both with whole vectors and without padding.

A step is six numbers, `lab.kernels._layout.Shape`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

F = np.float32

GROUP = 16
"""Positives that share one pass over a tile's columns; their totals stay in the L1 cache."""

# Sums may be reordered and products fused; NaN and infinity never enter a tile. Without numpy's error model every
# division is followed by a check that keeps the loop from becoming vector code.
OPTIONS = dict(error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz", "nnan", "ninf"}, nogil=True)


def compiled(function):
    """Compile on first use and keep the machine code on disk where some folder can be written."""
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba found no folder to write to
        return njit(**OPTIONS)(function)


@intrinsic
def _nearest(typing, x):
    """Nearest whole number: one instruction, and nothing that fast-math may fold away."""

    def build(context, builder, signature, arguments):
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [ir.FloatType()]), arguments)

    return types.float32(types.float32), build


@intrinsic
def _power_of_two(typing, x):
    """2 to a small whole number, by writing the exponent's bits."""

    def build(context, builder, signature, arguments):
        word = ir.IntType(32)
        exponent = builder.add(builder.fptosi(arguments[0], word), ir.Constant(word, 127))
        return builder.bitcast(builder.shl(exponent, ir.Constant(word, 23)), ir.FloatType())

    return types.float32(types.float32), build


@njit(inline="always", **OPTIONS)
def _exp2_of_minus(x):
    """2^-x within 2e-7 of relative error; x is cut to +-120."""
    y = -x
    y = y if y > F(-120) else F(-120)
    y = y if y < F(120) else F(120)
    whole = _nearest(y)
    part = y - whole
    p = F(1.5403530e-4)
    p = p * part + F(1.3333558e-3)
    p = p * part + F(9.6181291e-3)
    p = p * part + F(5.5504109e-2)
    p = p * part + F(2.4022651e-1)
    p = p * part + F(6.9314718e-1)
    p = p * part + F(1)
    return p * _power_of_two(whole)


@njit(inline="always", **OPTIONS)
def _bounded(e):
    """Cut at 2^60, where 1 / (1 + e) is nothing and the square of 1 + e still finite."""
    return e if e < F(2.0**60) else F(2.0**60)


@compiled
def survey(tile, i0, j0, low, high, both, row_alive, column_alive):
    """Which rows of the tile reach the low end of some query, and how many entries carry a gradient.

    low, high: [n], similarities between which a query's gradient does not vanish.
    """
    rows, columns = tile.shape
    active = 0
    low_j, high_j = low[j0 : j0 + columns], high[j0 : j0 + columns]
    for a in range(rows):
        bottom, top = low[i0 + a], high[i0 + a]
        inside, above, above_column = F(0), F(0), F(0)
        if both:
            for z in range(columns):
                s = tile[a, z]
                of_row = (s >= bottom) & (s <= top)
                of_column = (s >= low_j[z]) & (s <= high_j[z])
                inside += F(1) if of_row | of_column else F(0)
                above += F(1) if s >= bottom else F(0)
                above_column += F(1) if s >= low_j[z] else F(0)
        else:
            for z in range(columns):
                s = tile[a, z]
                inside += F(1) if (s >= bottom) & (s <= top) else F(0)
                above += F(1) if s >= bottom else F(0)
        active += int(inside)
        row_alive[a] = above > F(0)
        column_alive[a] = above_column > F(0)
    return active


@cache
def kernels_for(narrow: bool, lifted: bool):
    """The two kernels `add_values` and `add_slopes` that do the surrogate's work, fitted to what it needs.

    narrow: a row's positives lie so near their centre c that sigma((s - t) / tau) = 1 / (1 + u w), where
        u = e^-(s - c)/tau is shared by all positives of a row and w = e^(t - c)/tau by all items: one exponential a
        similarity and one reciprocal a comparison, a quarter of the time.
    lifted: the step is more than a sigmoid (H-).
    """

    @njit(inline="always", **OPTIONS)
    def power(s, t, u, w, scale):
        return _bounded(u * w if narrow else _exp2_of_minus((s - t) * scale))

    @njit(inline="always", **OPTIONS)
    def value(gap, e, delta, rho, after, start):
        v = F(1) / (F(1) + e)
        if lifted:
            v = v + start if gap > F(0) else v
            v = rho * (gap - delta) + after if gap > delta else v
        return v

    @njit(inline="always", **OPTIONS)
    def slope(gap, e, delta, rho, peak):
        r = F(1) / (F(1) + e)
        v = (e * r) * r * peak
        if lifted:
            v = rho if gap > delta else v
        return v

    @compiled
    def add_values(tile, i0, j0, own, factor, centre, base, counts, row_alive, column_alive, both, sums, shape):
        """Add the items of a tile to the rank sums of the row queries and, with `both`, of the column queries."""
        scale, delta, rho, after, start, _ = shape
        rows, columns = tile.shape
        u = np.empty(columns, np.float32)
        for a in range(rows):
            if row_alive[a]:
                if narrow:
                    for z in range(columns):
                        u[z] = _exp2_of_minus((tile[a, z] - centre[i0 + a]) * scale)
                for k in range(counts[i0 + a]):
                    t, w = own[base[k] + i0 + a], factor[base[k] + i0 + a]
                    total = F(0)
                    for z in range(columns):
                        s = tile[a, z]
                        total += value(s - t, power(s, t, u[z], w, scale), delta, rho, after, start)
                    sums[base[k] + i0 + a] += total
        if both:
            totals = np.empty((GROUP, columns), np.float32)
            for first in range(0, counts[j0], GROUP):
                last = min(first + GROUP, counts[j0])
                totals[:] = F(0)
                for a in range(rows):
                    if column_alive[a]:
                        if narrow:
                            for z in range(columns):
                                u[z] = _exp2_of_minus((tile[a, z] - centre[j0 + z]) * scale)
                        for k in range(first, last):
                            width = min(columns, base[k + 1] - base[k] - j0)
                            start_k = base[k] + j0
                            t, w = own[start_k : start_k + width], factor[start_k : start_k + width]
                            line = totals[k - first]
                            for z in range(width):
                                s = tile[a, z]
                                line[z] += value(s - t[z], power(s, t[z], u[z], w[z], scale), delta, rho, after, start)
                for k in range(first, last):
                    for z in range(min(columns, base[k + 1] - base[k] - j0)):
                        sums[base[k] + j0 + z] += totals[k - first, z]

    @compiled
    def add_slopes(
        tile, gradient, i0, j0, own, factor, centre, weights, base, counts, row_alive, column_alive, both, owed, shape
    ):  # fmt: skip
        """Gradient of the tile's similarities, and what each positive's own similarity is owed."""
        scale, delta, rho, _, _, peak = shape
        rows, columns = tile.shape
        u = np.empty(columns, np.float32)
        for a in range(rows):
            gradient[a, :] = F(0)
            if row_alive[a]:
                if narrow:
                    for z in range(columns):
                        u[z] = _exp2_of_minus((tile[a, z] - centre[i0 + a]) * scale)
                for k in range(counts[i0 + a]):
                    t, w = own[base[k] + i0 + a], factor[base[k] + i0 + a]
                    weight = weights[base[k] + i0 + a]
                    total = F(0)
                    for z in range(columns):
                        s = tile[a, z]
                        v = weight * slope(s - t, power(s, t, u[z], w, scale), delta, rho, peak)
                        gradient[a, z] += v
                        total += v
                    owed[base[k] + i0 + a] += total
        if both:
            totals = np.empty((GROUP, columns), np.float32)
            for first in range(0, counts[j0], GROUP):
                last = min(first + GROUP, counts[j0])
                totals[:] = F(0)
                for a in range(rows):
                    if column_alive[a]:
                        if narrow:
                            for z in range(columns):
                                u[z] = _exp2_of_minus((tile[a, z] - centre[j0 + z]) * scale)
                        for k in range(first, last):
                            width = min(columns, base[k + 1] - base[k] - j0)
                            start_k = base[k] + j0
                            t, w = own[start_k : start_k + width], factor[start_k : start_k + width]
                            weight = weights[start_k : start_k + width]
                            line = totals[k - first]
                            for z in range(width):
                                s = tile[a, z]
                                v = weight[z] * slope(s - t[z], power(s, t[z], u[z], w[z], scale), delta, rho, peak)
                                gradient[a, z] += v
                                line[z] += v
                for k in range(first, last):
                    for z in range(min(columns, base[k + 1] - base[k] - j0)):
                        owed[base[k] + j0 + z] += totals[k - first, z]

    @compiled
    def spread_listed(places, similarities, columns, i0, j0, own, weights, base, counts, both, owed, shape, rows, grad):
        """What `add_slopes` and the two products behind it do, for the listed entries of a tile alone.

        rows, grad: [n d].
        """
        scale, delta, rho, _, _, peak = shape
        for place in range(len(places)):
            i, j = i0 + places[place] // columns, j0 + places[place] % columns
            s, g = similarities[place], F(0)
            for k in range(counts[i]):
                gap = s - own[base[k] + i]
                v = weights[base[k] + i] * slope(gap, _bounded(_exp2_of_minus(gap * scale)), delta, rho, peak)
                owed[base[k] + i] += v
                g += v
            if both:
                for k in range(counts[j]):
                    gap = s - own[base[k] + j]
                    v = weights[base[k] + j] * slope(gap, _bounded(_exp2_of_minus(gap * scale)), delta, rho, peak)
                    owed[base[k] + j] += v
                    g += v
            for c in range(rows.shape[1]):
                grad[i, c] += g * rows[j, c]
            for c in range(rows.shape[1]):
                grad[j, c] += g * rows[i, c]

    return add_values, add_slopes, spread_listed


@compiled
def collect(tile, i0, j0, low, high, both, places, similarities):
    """List the tile's entries that carry a gradient: place in the tile and similarity."""
    rows, columns = tile.shape
    found = 0
    for a in range(rows):
        for z in range(columns):
            s = tile[a, z]
            of_column = both and low[j0 + z] <= s <= high[j0 + z]
            if of_column or low[i0 + a] <= s <= high[i0 + a]:
                places[found], similarities[found] = a * columns + z, s
                found += 1


@compiled
def spread_pairs(first, second, weights, rows, gradient):
    """Add weight x row of the other to the gradient of both rows of every pair."""
    for p in range(len(first)):
        i, j, g = first[p], second[p], F(weights[p])
        for c in range(rows.shape[1]):
            gradient[i, c] += g * rows[j, c]
        for c in range(rows.shape[1]):
            gradient[j, c] += g * rows[i, c]


@compiled
def mix(tile, x_i, z_i, alpha_i, x_j, z_j, alpha_j, half, mixed):
    """Similarities of mixtures from those of their parents: columns into `half`, then rows into `mixed`."""
    for a in range(tile.shape[0]):
        for j in range(len(x_j)):
            half[a, j] = alpha_j[j] * tile[a, x_j[j]] + (F(1) - alpha_j[j]) * tile[a, z_j[j]]
    for i in range(len(x_i)):
        x, z, alpha = x_i[i], z_i[i], alpha_i[i]
        for j in range(len(x_j)):
            mixed[i, j] = alpha * half[x, j] + (F(1) - alpha) * half[z, j]


@compiled
def unmix(gradient, x_i, z_i, alpha_i, x_j, z_j, alpha_j, half, tile):
    """Gradient of the parents' similarities from that of the mixtures': the transpose of `mix`."""
    half[:] = F(0)
    for i in range(len(x_i)):
        x, z, alpha = x_i[i], z_i[i], alpha_i[i]
        for j in range(len(x_j)):
            half[x, j] += alpha * gradient[i, j]
            half[z, j] += (F(1) - alpha) * gradient[i, j]
    tile[:] = F(0)
    for a in range(tile.shape[0]):
        for j in range(len(x_j)):
            tile[a, x_j[j]] += alpha_j[j] * half[a, j]
            tile[a, z_j[j]] += (F(1) - alpha_j[j]) * half[a, j]


@compiled
def scatter_rows(rows, target):
    """Move row k to row target[k], for all k at once and in place; target is a permutation."""
    moved = np.zeros(len(target), np.bool_)
    held, next_held = np.empty(rows.shape[1], np.float32), np.empty(rows.shape[1], np.float32)
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


def rehearse() -> None:
    """Run the smallest kernel once, to learn whether this machine can compile at all."""
    rows = np.zeros((1, 1), np.float32)
    scatter_rows(rows, np.zeros(1, np.int64))
