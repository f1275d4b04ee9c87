"""Intervals over classes and queries: of the difference of two scores on the same queries, and of shares of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lab.core.estimates import LEVEL

DRAWS = 2_000
"""Samples of the bootstrap; the ends of an interval then differ by some 3 % of its half width from seed to seed."""


@dataclass(frozen=True)
class Difference:
    """mean: of after - before over the queries. low, high: its 95 % interval. queries, classes: how many it is over."""

    mean: float
    low: float
    high: float
    queries: int
    classes: int

    def __str__(self) -> str:
        """`+0.018, 95 % interval -0.010 to +0.046: cannot be told from chance`."""
        told = "higher" if self.low > 0 else "lower" if self.high < 0 else "cannot be told from chance"
        return f"{self.mean:+.3f}, 95 % interval {self.low:+.3f} to {self.high:+.3f}: {told}"


def difference(before: np.ndarray, after: np.ndarray, labels: np.ndarray, seed: int = 0) -> Difference:
    """How much a second answer is better than a first one, by a paired bootstrap over classes and queries within them.

    Queries of one class succeed and fail together, so classes are drawn first, and then queries of each class drawn, as
    often as it has some, both with replacement; the interval is that of the percentiles (Efron and Tibshirani, 1993).
    It says what other classes and queries of the same kind would give, not what other seeds of the trainings would.

    Args:
        before, after: a score of each query, float [q]; queries without one in both (NaN) do not count.
        labels: class of each query, int [q]. seed: of the draws.

    Raises:
        ValueError: the lengths differ, or no query counts.

    Example:
        >>> from lab.evaluation.paired import difference
        >>> print(difference([0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1]))
        +0.750, 95 % interval +0.250 to +1.000: higher
    """
    change, classes = np.asarray(after, np.float64) - np.asarray(before, np.float64), np.asarray(labels)
    if change.shape != classes.shape:
        raise ValueError(
            f"Each query needs two scores and a class, got {change.shape} scores, {classes.shape} classes."
        )
    known = ~np.isnan(change)
    if not known.any():
        raise ValueError("No query has both scores, so there is no difference.")
    change, classes = change[known], classes[known]
    means = np.array([change[rows].mean() for rows in draws(classes, seed)])
    low, high = np.quantile(means, ENDS)
    return Difference(float(change.mean()), float(low), float(high), len(change), len(np.unique(classes)))


def shares(parts: np.ndarray, wholes: np.ndarray, labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """m shares with their 95 % intervals, by the bootstrap of `difference`: float64 [m 3], share, low and high.

    A share is the sum of the parts of all queries over the sum of their wholes; NaN where that is 0.

    Args:
        parts, wholes: what each query adds to each share, [q m]. labels: class of each query, int [q].

    Example:
        >>> from lab.evaluation.paired import shares
        >>> shares([[1], [3], [0]], [[4], [4], [4]], [0, 0, 1]).round(2)  # 4 of 12
        array([[0.33, 0.  , 0.62]])
    """
    both = np.stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)])
    sums = np.array([both.sum(1), *(both[:, rows].sum(1) for rows in draws(np.asarray(labels), seed))])
    ratios = np.divide(sums[:, 0], sums[:, 1], out=np.full(sums[:, 0].shape, np.nan), where=sums[:, 1] > 0)
    known = ~np.isnan(ratios[0])
    ends = np.full((2, len(known)), np.nan)
    ends[:, known] = np.nanquantile(ratios[1:, known], ENDS, axis=0)
    return np.stack([ratios[0], *ends], axis=1)


ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def draws(classes: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """The rows of each sample of the bootstrap, int64: classes first, then queries of each, both with replacement."""
    order = np.argsort(classes, kind="stable")
    sizes = np.unique(classes, return_counts=True)[1]
    starts, generator = np.cumsum(sizes) - sizes, np.random.default_rng(seed)
    for _ in range(DRAWS):
        drawn = generator.integers(len(sizes), size=len(sizes))
        of = np.repeat(drawn, sizes[drawn])
        yield order[starts[of] + (generator.random(len(of)) * sizes[of]).astype(np.int64)]
