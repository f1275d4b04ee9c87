"""How much a score changes from one point of a doubling axis to the next."""

from collections.abc import Callable, Sequence

import numpy as np


def doubling(values: Sequence[float], sizes: Sequence[float]) -> float:
    """Least-squares slope of values [n] over log2 of sizes [n]: change for each doubling."""
    return float(np.polyfit(np.log2(np.asarray(sizes, dtype=float)), np.asarray(values, dtype=float), 1)[0])


def slope(s: Callable[..., float], name: str, sizes: Sequence[float], score: Callable[..., float]) -> float:
    """`doubling` of one line of a study; `score(s, name, size)` reads it."""
    return doubling([score(s, name, size) for size in sizes], sizes)
