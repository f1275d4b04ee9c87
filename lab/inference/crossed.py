"""The difference of two methods that were each trained several times, over classes and trainings.

Classes and trainings are crossed random factors: each training is tested on the same classes, and another draw of
either would move the difference. The variance of its mean is that of a two-way random-effects model with one value a
cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lab.core.estimates import LEVEL
from lab.inference.over_classes import FEWEST, mean_over_classes, too_few

FEWEST_TRAININGS = 2
"""Trainings of a method below which nothing is said of it: a single one says nothing of how far trainings differ."""


@dataclass(frozen=True)
class Spread:
    """Variances of a difference between seeds, between classes, and of what is left in each cell."""

    seeds: float
    classes: float
    rest: float

    def error(self, seeds: int, classes: int) -> float:
        """Standard error of the mean over so many of both."""
        return math.sqrt(
            self.seeds / seeds + self.classes / classes + self.rest / (seeds * classes)
        )


def spread(differences: np.ndarray) -> Spread:
    """The three variances, from one difference for each seed and class [s c]."""
    seeds, classes = differences.shape
    by_seed, by_class, rest = mean_squares(differences)
    between_seeds = max(0.0, (by_seed - rest) / classes)
    between_classes = max(0.0, (by_class - rest) / seeds)
    return Spread(between_seeds, between_classes, rest)


def mean_squares(differences: np.ndarray) -> tuple[float, float, float]:
    """Of seeds, of classes and of the rest: the two-way analysis of variance of [s c]."""
    seeds, classes = differences.shape
    mean = differences.mean()
    of_seed = differences.mean(axis=1, keepdims=True)
    of_class = differences.mean(axis=0, keepdims=True)
    left = differences - of_seed - of_class + mean  # what neither the seed nor the class explains
    by_seed = classes * np.square(of_seed - mean).sum() / (seeds - 1)
    by_class = seeds * np.square(of_class - mean).sum() / (classes - 1)
    rest = np.square(left).sum() / ((seeds - 1) * (classes - 1))
    return float(by_seed), float(by_class), float(rest)


@dataclass(frozen=True)
class Effect:
    """The mean of a difference, with the interval over another draw of seeds and of classes.

    p: how often other trainings and classes would give as large a mean, of either sign, if there were no effect.
    """

    mean: float
    low: float
    high: float
    p: float


def effect(differences: np.ndarray) -> Effect:
    """Student's t interval of the mean of [s c], with Satterthwaite's degrees of freedom."""
    from scipy.special import stdtr, stdtrit

    seeds, classes = differences.shape
    mean = float(differences.mean())
    by_seed, by_class, rest = mean_squares(differences)
    # not below what either factor alone would give
    total = max(by_seed + by_class - rest, by_class, by_seed)
    error = math.sqrt(total / differences.size)
    if error == 0:  # both arms found the same
        return Effect(mean, mean, mean, 1.0)

    # Satterthwaite: each mean square counts with its own degrees of freedom.
    spread_out = by_seed**2 / (seeds - 1) + by_class**2 / (classes - 1)
    spread_out += rest**2 / ((seeds - 1) * (classes - 1))
    freedom = total**2 / spread_out
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    p = float(2 * stdtr(freedom, -abs(mean) / error))
    return Effect(mean, mean - half, mean + half, p)


@dataclass(frozen=True)
class MethodDifference:
    """How much the second of two methods is better, over other classes and other trainings.

    mean: of after - before over trainings and queries. low, high: its 95 % interval; NaN where there are fewer than
    `FEWEST` classes or a method has fewer than `FEWEST_TRAININGS`. trainings: of the first and of the second method.
    """

    mean: float
    low: float
    high: float
    queries: int
    classes: int
    trainings: tuple[int, int]

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def interval(self) -> str:
        """`95 % interval over classes and trainings -0.010 to +0.046`, or why there is none."""
        if self.classes < FEWEST:
            return too_few(self.classes)
        if min(self.trainings) < FEWEST_TRAININGS:
            return "one training of a method is too few for an interval"
        return f"95 % interval over classes and trainings {self.low:+.3f} to {self.high:+.3f}"

    def __str__(self) -> str:
        """`+0.042, 95 % interval over classes and trainings +0.010 to +0.074: higher`."""
        if not self.known:
            return f"{self.mean:+.3f}; {self.interval}"
        if self.low <= 0 <= self.high:
            return f"{self.mean:+.3f}, {self.interval}: no difference can be told"
        direction = "higher" if self.low > 0 else "lower"
        return f"{self.mean:+.3f}, {self.interval}: {direction}"


def method_difference(
    before: np.ndarray, after: np.ndarray, labels: np.ndarray
) -> MethodDifference:
    """Return how much a second method is better than a first one, with the interval over classes and trainings.

    Both are measured on the same queries. Their trainings are independent of each other: the first training of one has
    nothing to do with the first one of the other. Two intervals are combined: that over classes of the mean over
    trainings (`mean_over_classes`), and Student's t for what trainings do to all classes alike. Their distances to the
    mean are added as squares (MOVER, Zou and Donner, 2008). tests/inference has what the interval then covers.

    Args:
        before, after: a score of each query in each training, float [s q] and [t q]. A query without a score (NaN) in
            any training does not count.
        labels: class of each query, int [q].

    Raises:
        ValueError: the shapes differ, or no query has a score in every training.

    Example:
        >>> from lab.inference.crossed import method_difference
        >>> before = [[0.50] * 8, [0.52] * 8, [0.51] * 8]
        >>> after = [[0.60] * 8, [0.61] * 8, [0.59] * 8]
        >>> print(method_difference(before, after, range(8)))
        +0.090, 95 % interval over classes and trainings +0.067 to +0.113: higher
    """
    first = np.atleast_2d(np.asarray(before, np.float64))
    second = np.atleast_2d(np.asarray(after, np.float64))
    classes = np.asarray(labels)
    if first.shape[1:] != classes.shape or second.shape[1:] != classes.shape:
        raise ValueError(
            "Each query needs a class and a score in every training, got scores "
            f"{first.shape} and {second.shape} and classes {classes.shape}."
        )
    counts = ~(np.isnan(first).any(0) | np.isnan(second).any(0))
    if not counts.any():
        raise ValueError("No query has a score in every training, so there is no difference.")
    first = first[:, counts]
    second = second[:, counts]
    classes = classes[counts]

    of_classes = mean_over_classes(second.mean(axis=0) - first.mean(axis=0), classes)
    trainings = (len(first), len(second))
    low = high = np.nan
    if of_classes.half is not None and min(trainings) >= FEWEST_TRAININGS:
        of_trainings = _half_over_trainings(first, second, classes)
        low = of_classes.mean - math.hypot(of_classes.mean - of_classes.low, of_trainings)
        high = of_classes.mean + math.hypot(of_classes.high - of_classes.mean, of_trainings)
    return MethodDifference(
        of_classes.mean, low, high, of_classes.values, of_classes.classes, trainings
    )


def _half_over_trainings(first: np.ndarray, second: np.ndarray, classes: np.ndarray) -> float:
    """Half of the 95 % interval over trainings, of what they do to all classes alike.

    The variance of the trainings' means holds what they do to single classes, too. The interval over classes has that
    part already. Half of it is subtracted here: it is an estimate, and simulations with all of it subtracted make up to
    10 % false claims from two trainings each, with half of it up to 6 %, with none of it 2 %. Degrees of freedom are
    Welch's.
    """
    from scipy.special import stdtrit

    place = np.unique(classes, return_inverse=True)[1]
    total = 0.0  # variance of the difference of both means
    squares = 0.0  # of the variances, each over its degrees of freedom
    in_classes = 0.0  # the part of the variance that single classes make
    for scores in (first, second):
        trainings, queries = scores.shape
        means = scores.mean(axis=1)
        variance = means.var(ddof=1) / trainings
        total += variance
        squares += variance**2 / (trainings - 1)

        # What each class adds to the mean of each training, beyond what it would add if all classes were alike [s c].
        away = scores - means[:, None]
        added = [np.bincount(place, row) / queries for row in away]
        in_classes += np.var(added, axis=0, ddof=1).sum() / trainings

    if total <= in_classes / 2:
        return 0.0
    quantile = float(stdtrit(total**2 / squares, (1 + LEVEL) / 2))
    return quantile * math.sqrt(total - in_classes / 2)
