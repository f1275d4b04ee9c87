"""The difference of two networks on the same queries, with its interval over classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.inference.over_classes import FEWEST, mean_over_classes, too_few

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
            return too_few(self.classes)
        return f"95 % interval over classes {self.low:+.3f} to {self.high:+.3f}"

    def __str__(self) -> str:
        """`+0.018, 95 % interval over classes -0.010 to +0.046: no difference can be told on such classes`."""
        if self.classes < FEWEST:
            return f"{self.mean:+.3f}; {self.interval}"
        if self.low > 0:
            told = "higher"
        elif self.high < 0:
            told = "lower"
        else:
            told = "no difference can be told"
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
    change = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    classes = np.asarray(labels)
    if change.shape != classes.shape:
        raise ValueError(
            f"Each query needs two scores and a class, got {change.shape} scores, {classes.shape} classes."
        )
    known = ~np.isnan(change)
    if not known.any():
        raise ValueError("No query has both scores, so there is no difference.")
    found = mean_over_classes(change, classes)
    return Difference(found.mean, found.low, found.high, found.values, found.classes)
