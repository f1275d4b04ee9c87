"""The difference of two networks on the same queries, and shares of queries, with intervals over classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lab.core.estimates import LEVEL
from lab.inference.over_classes import FEWEST, mean_over_classes

DRAWS = 2_000
"""Samples of the bootstrap; the ends of an interval then differ by some 3 % of its half width from seed to seed."""

SOURCE = (
    "Intervals are over classes: they say what these networks would score on other classes of the kind. Whether the "
    "methods differ needs several trainings of each."
)
"""What stands beside a difference of two networks, each of one training."""


@dataclass(frozen=True)
class Difference:
    """mean: of after - before over the queries. low, high: its 95 % interval over classes, NaN where there are fewer
    than six. queries, classes: how many it is over."""

    mean: float
    low: float
    high: float
    queries: int
    classes: int

    @property
    def interval(self) -> str:
        """`95 % interval over classes -0.010 to +0.046`."""
        if self.classes < FEWEST:
            return f"{self.classes} {'class is' if self.classes == 1 else 'classes are'} too few for an interval"
        return f"95 % interval over classes {self.low:+.3f} to {self.high:+.3f}"

    def __str__(self) -> str:
        """`+0.018, 95 % interval over classes -0.010 to +0.046: no difference can be told on such classes`."""
        if self.classes < FEWEST:
            return f"{self.mean:+.3f}; {self.interval}"
        told = "higher" if self.low > 0 else "lower" if self.high < 0 else "no difference can be told"
        return f"{self.mean:+.3f}, {self.interval}: {told} on such classes"


def difference(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> Difference:
    """How much a second network is better than a first one on the same queries, with its interval over classes.

    It says what other classes of the same kind would give, not what other trainings would: two trainings of one
    configuration differ, too.

    Args:
        before, after: a score of each query, float [q]; queries without one in both (NaN) do not count.
        labels: class of each query, int [q].

    Raises:
        ValueError: the lengths differ, or no query counts.

    Example:
        >>> from lab.inference.paired import difference
        >>> print(difference([0] * 8, [0.5, 1, 1, 1, 1, 1, 1, 0.5], [0, 1, 2, 3, 4, 5, 6, 7]))
        +0.875, 95 % interval over classes +0.667 to +1.000: higher on such classes
    """
    change, classes = np.asarray(after, np.float64) - np.asarray(before, np.float64), np.asarray(labels)
    if change.shape != classes.shape:
        raise ValueError(
            f"Each query needs two scores and a class, got {change.shape} scores, {classes.shape} classes."
        )
    known = ~np.isnan(change)
    if not known.any():
        raise ValueError("No query has both scores, so there is no difference.")
    found = mean_over_classes(change, classes)
    return Difference(found.mean, found.low, found.high, found.values, found.classes)


def shares(parts: np.ndarray, wholes: np.ndarray, labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """m shares with their 95 % intervals, by a bootstrap: float64 [m 3], share, low and high.

    A share is the sum of the parts of all queries over the sum of their wholes; NaN where that is 0. Classes are drawn
    first, and then queries of each class drawn, as often as it has some, both with replacement; the interval is that of
    the percentiles (Efron and Tibshirani, 1993).

    Args:
        parts, wholes: what each query adds to each share, [q m]. labels: class of each query, int [q].

    Example:
        >>> from lab.inference.paired import shares
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
