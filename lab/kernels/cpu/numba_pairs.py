"""Single pairs: their similarities, and the ranks of a query's positives among themselves, compiled by numba.

Importing this file imports numba.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lab.kernels.cpu.numba_tiles import (
    FAR,
    OPTIONS,
    F,
    _add_scaled,
    _exp2,
    _slope,
    _value,
    compiled,
)


@compiled
def pair_dots(
    queries: np.ndarray, items: np.ndarray, pairs: np.ndarray, products: np.ndarray
) -> None:
    """Dot product of each pair [p 2] of rows."""
    for p in range(len(pairs)):
        a = queries[pairs[p, 0]]
        b = items[pairs[p, 1]]
        total = a.dtype.type(0)
        for c in range(len(a)):
            total += a[c] * b[c]
        products[p] = total


@compiled
def spread_dots(
    queries: np.ndarray,
    items: np.ndarray,
    pairs: np.ndarray,
    weights: np.ndarray,
    query_gradient: np.ndarray,
    item_gradient: np.ndarray,
) -> None:
    """Gradients of both rows of every pair from that of its dot product."""
    for p in range(len(pairs)):
        a = pairs[p, 0]
        b = pairs[p, 1]
        _add_scaled(query_gradient[a], weights[p], items[b])
        _add_scaled(item_gradient[b], weights[p], queries[a])


@njit(inline="always", **OPTIONS)
def _end_of_run(pairs: np.ndarray, first: int) -> int:
    """Where the pairs of another query begin."""
    last = first + 1
    while last < len(pairs) and pairs[last, 0] == pairs[first, 0]:
        last += 1
    return last


@njit(inline="always", **OPTIONS)
def _value_or_step(gap: F, shape: tuple, lifted: bool | None, hard: bool | None) -> F:
    scale, delta, rho, after, start, _ = shape
    if hard is not None:
        return F(1) if gap >= F(0) else F(0)
    return _value(gap, _exp2(-gap * scale, FAR), delta, rho, after, start, lifted)


@compiled
def positive_sums(
    similarities: np.ndarray,
    ranked: np.ndarray,
    pairs: np.ndarray,
    shape: tuple,
    lifted: bool | None,
    hard: bool | None,
    sums: np.ndarray,
) -> None:
    """For each pair the values of the gaps to the query's other pairs, into sums [p].

    pairs: int64 [p 2], those of a query side by side. ranked: float32 [p], 0 for a pair that none is compared with.
    hard: True for the step itself, else None.
    """
    first = 0
    while first < len(pairs):
        last = _end_of_run(pairs, first)
        for i in range(first, last):
            t = similarities[i]
            total = F(0)
            for j in range(first, i):
                total += ranked[j] * _value_or_step(similarities[j] - t, shape, lifted, hard)
            for j in range(i + 1, last):
                total += ranked[j] * _value_or_step(similarities[j] - t, shape, lifted, hard)
            sums[i] = total
        first = last


@compiled
def positive_slopes(
    similarities: np.ndarray,
    ranked: np.ndarray,
    pairs: np.ndarray,
    weights: np.ndarray,
    shape: tuple,
    lifted: bool | None,
    gradient: np.ndarray,
) -> None:
    """Add the gradient of the similarities [p] from that of the sums, [p]; arguments are those of `positive_sums`."""
    scale, delta, rho, _, _, peak = shape
    first = 0
    while first < len(pairs):
        last = _end_of_run(pairs, first)
        for i in range(first, last):
            t = similarities[i]
            weight = weights[i]
            total = F(0)
            for part in range(2):
                for j in range(i + 1 if part else first, last if part else i):
                    gap = similarities[j] - t
                    e = _exp2(-gap * scale, FAR)
                    v = ranked[j] * weight * _slope(gap, e, delta, rho, peak, lifted)
                    gradient[j] += v
                    total += v
            gradient[i] -= total
        first = last
