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


@dataclass(frozen=True)
class Spread:
    """Variances of a difference between seeds, between classes, and of what is left in each cell."""

    seeds: float
    classes: float
    rest: float

    def error(self, seeds: int, classes: int) -> float:
        """Standard error of the mean over so many of both."""
        return math.sqrt(self.seeds / seeds + self.classes / classes + self.rest / (seeds * classes))


def spread(differences: np.ndarray) -> Spread:
    """The three variances, from one difference for each seed and class [s c]."""
    seeds, classes = differences.shape
    by_seed, by_class, rest = mean_squares(differences)
    return Spread(max(0.0, (by_seed - rest) / classes), max(0.0, (by_class - rest) / seeds), rest)


def mean_squares(differences: np.ndarray) -> tuple[float, float, float]:
    """Of seeds, of classes and of the rest: the two-way analysis of variance of [s c]."""
    seeds, classes = differences.shape
    rows, columns, mean = differences.mean(1, keepdims=True), differences.mean(0, keepdims=True), differences.mean()
    rest = np.square(differences - rows - columns + mean).sum() / ((seeds - 1) * (classes - 1))
    return (
        float(classes * np.square(rows - mean).sum() / (seeds - 1)),
        float(seeds * np.square(columns - mean).sum() / (classes - 1)),
        float(rest),
    )


@dataclass(frozen=True)
class Effect:
    """The mean of a difference, with the interval over another draw of seeds and of classes.

    p: how often chance alone would give as large a mean, of either sign.
    """

    mean: float
    low: float
    high: float
    p: float


def effect(differences: np.ndarray) -> Effect:
    """Student's t interval of the mean of [s c], with Satterthwaite's degrees of freedom."""
    from scipy.special import stdtr, stdtrit

    seeds, classes = differences.shape
    by_seed, by_class, rest = mean_squares(differences)
    squares = (by_seed, seeds - 1), (by_class, classes - 1), (rest, (seeds - 1) * (classes - 1))
    total = max(by_seed + by_class - rest, by_class, by_seed)  # not below what either factor alone would give
    error, mean = math.sqrt(total / differences.size), float(differences.mean())
    if error == 0:  # both arms found the same
        return Effect(mean, mean, mean, 1.0)
    freedom = total**2 / sum(square**2 / count for square, count in squares)
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Effect(mean, mean - half, mean + half, float(2 * stdtr(freedom, -abs(mean) / error)))
