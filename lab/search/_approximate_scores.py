"""Ways to the approximate scores of a tile, each with a bound on its error that holds for every pair."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import torch

from lab.kernels import products
from lab.search import _scans

UNIT_ROUNDOFF = 2.0**-24
"""Of float32."""

LONGEST = 1 + 1e-5
"""Rows are of unit length within this."""

AHEAD = 1.5
"""How many times as quick the int8 product of a tile has to be: when it was 1.1 times, all metrics of untrained
embeddings took 1.6 bare products by it, and 1.15 without."""


class FloatProduct:
    """The float32 product. Its error is at most d roundings of a sum of magnitudes no greater than 1, in any order."""

    def __init__(self, queries: torch.Tensor, items: torch.Tensor):
        self.queries, self.items = queries, items
        self.margins = np.full(len(queries), (queries.shape[1] + 8) * UNIT_ROUNDOFF * LONGEST**3, np.float32)

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        """Scores, float32 [a b]."""
        return products.product(self.queries[rows], self.items[columns]).numpy()


class SplitProduct:
    """Three int8 products in place of one in float32.

    Every row is scale (high + low / 254) + rest, with int8 high and low. Scores are high.high + (high.low + low.high) /
    254, scaled; the error is what the rests and low.low can add by Cauchy-Schwarz. Takes 2 d bytes a row.
    """

    STEPS = 254

    def __init__(self, queries: torch.Tensor, items: torch.Tensor):
        self.items = _Split(items, self.STEPS)
        self.queries = self.items if queries is items else _Split(queries, self.STEPS)
        rest, low = self.queries.rests, self.queries.lows
        bound = (2 * LONGEST + rest) * np.maximum(rest, self.items.rests.max()) + low * self.items.lows.max()
        self.margins = ((bound + 16 * UNIT_ROUNDOFF) * LONGEST).astype(np.float32)

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        """Scores, float32 [a b]."""
        left, right = self.queries, self.items
        products = [
            torch._int_mm(a[rows], b[columns].T).numpy()
            for a, b in ((left.high, right.high), (left.high, right.low), (left.low, right.high))
        ]
        tile = np.empty(products[0].shape, np.float32)
        _scans.combine(*products, left.scales[rows], right.scales[columns], self.STEPS, tile)
        return tile


class _Split:
    """Rows [n d] as scale (high + low / steps) + rest, with the lengths of rest and low part."""

    def __init__(self, rows: torch.Tensor, steps: int):
        self.high, self.low = torch.empty(rows.shape, dtype=torch.int8), torch.empty(rows.shape, dtype=torch.int8)
        self.scales = np.empty(len(rows), np.float32)
        self.rests, self.lows = np.empty(len(rows)), np.empty(len(rows))
        _scans.split_rows(rows.numpy(), steps, self.high.numpy(), self.low.numpy(), self.scales, self.rests, self.lows)


def fastest(queries: torch.Tensor, items: torch.Tensor, tile: int) -> FloatProduct | SplitProduct:
    """The product that is quicker here; int8 only where the processor does it right."""
    return (SplitProduct if _int8_is_ahead(queries.shape[1], tile) else FloatProduct)(queries, items)


@cache
def _int8_is_ahead(width: int, tile: int) -> bool:
    """Whether int8 is quicker by far, found by timing a tile of each, once in a process.

    By far, since its margin leaves a hundred times as many scores in doubt.
    """
    if not int8_is_exact():
        return False
    draw = torch.Generator().manual_seed(0)
    rows = torch.nn.functional.normalize(torch.randn(tile, width, generator=draw), dim=1)
    some = slice(0, tile)
    return AHEAD * _seconds(SplitProduct(rows, rows), some) <= _seconds(FloatProduct(rows, rows), some)


def int8_is_exact() -> bool:
    """Whether the int8 product exists and adds up to the end of its range: older processors saturate on the way."""
    ends = torch.full((32, 512), 127, dtype=torch.int8)
    try:
        return bool((torch._int_mm(ends, -ends.T.contiguous()) == -512 * 127**2).all())
    except (AttributeError, RuntimeError):
        return False


def _seconds(product: FloatProduct | SplitProduct, some: slice) -> float:
    """Time of a tile once all is loaded; of this thread, so that other work on the machine does not decide."""
    product.tile(some, some)
    start = time.thread_time()
    product.tile(some, some)
    return time.thread_time() - start
