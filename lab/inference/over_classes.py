"""How far another draw of classes would move a mean over queries.

Queries of one class succeed and fail together, so that thousands of queries of few classes say less than thousands of
independent ones. What is drawn is a class, with all of its queries.

A mean m is held to be possible if the sum of value - m is nothing unusual among the sums in which whole classes have
the other sign (Canay, Romano and Shaikh, 2017). The interval holds every such m. Classes may be of any size and any
distribution, as long as they fall to either side of the mean alike. That is exact where two networks are compared that
differ in nothing: each class could as well have favoured the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lab.core.estimates import LEVEL

FEWEST = 6
"""Classes below which nothing is told: if each falls to either side alike, five fall to the same one in more than one
case of twenty (2 / 2^5)."""

ALL_SIGNS = 12
"""Up to so many classes every choice of signs is tried, 2,048 with the first one fixed; of more a sample of twice as
many. tests/inference has what the intervals then cover."""

SAMPLED = 4_095
BLOCK = 512
"""Choices of signs that are held at once."""


@dataclass(frozen=True)
class MeanOverClasses:
    """A mean with its 95 % interval, over so many values and classes; NaN where there are fewer than six classes."""

    mean: float
    low: float
    high: float
    values: int
    classes: int

    @property
    def half(self) -> float | None:
        """The larger of both distances from the mean to an end; None without an interval."""
        if self.classes < FEWEST:
            return None
        return max(self.high - self.mean, self.mean - self.low)


def too_few(classes: int) -> str:
    """Say that there is no interval over so many classes."""
    return (
        "1 class is too few for an interval"
        if classes == 1
        else f"{classes} classes are too few for an interval"
    )


def mean_over_classes(
    values: Sequence | np.ndarray, labels: Sequence | np.ndarray
) -> MeanOverClasses:
    """The mean of values of queries, and the 95 % interval over another draw of classes.

    The mean of infinite values is infinite, or NaN if both infinities are among them; its interval is NaN.

    Args:
        values: [n], NaN where there is none.
        labels: [n], the class of each.

    Example:
        >>> from lab.inference.over_classes import mean_over_classes
        >>> found = mean_over_classes([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7])
        >>> found.mean, round(found.low, 2), round(found.high, 2), found.classes
        (3.5, 1.33, 5.67, 8)
    """
    numbers = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(numbers)
    numbers = numbers[known]
    if not len(numbers):
        return MeanOverClasses(np.nan, np.nan, np.nan, 0, 0)
    with np.errstate(invalid="ignore"):  # the mean of both infinities is NaN
        mean = float(numbers.mean())
    place = np.unique(np.asarray(labels)[known], return_inverse=True)[1]
    sizes = np.bincount(place)
    low = high = np.nan
    if len(sizes) >= FEWEST and np.isfinite(mean):
        # how far the sum of each class is from what the mean would give
        away = np.bincount(place, numbers - mean)
        low, high = mean + _ends(away, sizes)
    return MeanOverClasses(mean, float(low), float(high), len(numbers), len(sizes))


def _ends(away: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Both ends of the interval, less the mean.

    Args:
        away: float64 [c], the sum of value - mean of each class; their sum is 0.
        sizes: int64 [c], values of each class.
    """
    largest = np.abs(away / sizes).max()
    if largest == 0:
        return np.zeros(2)

    # With another mean, larger by d, the classes' sums are away - d sizes: both parts of every signed sum are kept.
    signed_away, signed_sizes = _signed_sums(np.stack([away, sizes], axis=1)).T
    rounding = 1e-9 * largest * sizes.sum()

    def possible(further: float) -> bool:
        """Whether the mean could be further than it is by so much."""
        seen = further * sizes.sum()
        as_far = np.abs(signed_away - further * signed_sizes) >= abs(seen) - rounding
        return bool(as_far.mean() > 1 - LEVEL)

    low = _last(possible, -largest)
    high = _last(possible, largest)
    return np.array([low, high])


def _last(possible: Callable[[float], bool], step: float) -> float:
    """The last possible distance in the direction of a step, by bisection."""
    inside = 0.0
    outside = step
    while possible(outside):
        inside = outside
        outside = 2 * outside
    for _ in range(40):
        middle = (inside + outside) / 2
        if possible(middle):
            inside = middle
        else:
            outside = middle
    return inside


def _signed_sums(columns: np.ndarray) -> np.ndarray:
    """Sums [s k] of columns [c k] with the signs of their rows chosen in many ways, first as they are."""
    count = len(columns)
    if count <= ALL_SIGNS:
        rest = np.array(list(itertools.product((1.0, -1.0), repeat=count - 1)))
        signs = np.hstack([np.ones((len(rest), 1)), rest])
        return signs @ columns

    generator = np.random.default_rng(0)
    parts = [columns.sum(axis=0, keepdims=True)]
    for start in range(0, SAMPLED, BLOCK):
        rows = min(BLOCK, SAMPLED - start)
        drawn = generator.integers(0, 2, (rows, count), dtype=np.int8)
        signs = 2.0 * drawn - 1
        parts.append(signs @ columns)
    return np.concatenate(parts)
