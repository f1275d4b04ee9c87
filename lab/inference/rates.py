"""A rate over pairs or queries, and how far another draw of classes would move it.

A class is drawn with everything that depends on it: its queries, its items in the gallery, and every pair with either.
So a pair of two classes moves with both of them. A bootstrap over the classes of queries alone leaves the gallery as it
is, misses about half of the variance, and covers 65 to 86 % where it promises 95 % (docs/threshold.md).

The interval is a class jackknife on the scale of log odds: the rate is computed again without each class, and the
spread of these values is the variance. Its ends are those of Student's t, with fewer degrees of freedom where few
classes carry the weight or the spread. What is meant are other classes of the same sizes.

Where two classes meet, the jackknife counts what belongs to the pair with each of them, twice in all (Efron and Stein,
1981). Fafchamps and Gubert (2007) take it away once. That is done for rates of queries, such as strangers rejected. Of
rates of pairs half of it is taken away: simulated, intervals of the false accepts cover 90 to 96 % if all of it is, 93
to 99 % with half, and 95 to 100 % with none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.core.estimates import LEVEL

FEWEST = 12.0
"""Equal classes below which no interval is told: of 10 some cover 90 % (docs/threshold.md)."""


@dataclass(frozen=True)
class Rate:
    """A rate with its 95 % interval over classes; low and high are NaN where the classes are too few.

    classes: how many classes of equal weight would weigh as much: few where one class has most of the pairs.
    """

    value: float
    low: float
    high: float
    classes: float

    def as_list(self) -> list[float | None]:
        """Value, low and high as JSON has them: None for NaN."""
        return [None if np.isnan(one) else one for one in (self.value, self.low, self.high)]


TOO_FEW = (
    f"No interval where there are too few classes: it takes {FEWEST:.0f} of equal size, and more where some have most "
    "of the pairs."
)
"""What stands beside rates of which one has no interval."""


@dataclass(frozen=True)
class Jackknife:
    """A rate with all classes, and without each of them.

    value: the rate; NaN of nothing. without: float64 [c], the rate without each class; NaN where nothing is left.
    weights: float64 [c], how much of what the rate is of goes with each class.
    too_much: variance that the jackknife counts once too often, since it belongs to pairs of classes.
    independent: how many equal classes could have done what none did, or none failed to do.
    """

    value: float
    without: np.ndarray
    weights: np.ndarray
    too_much: float
    independent: float

    @classmethod
    def of_sums(
        cls,
        part: float,
        whole: float,
        less_part: np.ndarray,
        less_whole: np.ndarray,
        together: float | None = None,
    ) -> Jackknife:
        """Of a part of a whole, from what of either goes with each class.

        together: of a rate of two classes that meet, the sum of squares of what two classes change of
            part - value * whole together, beyond what each changes by itself.
        """
        value = float(share(part, whole))
        without = share(part - less_part, whole - less_whole)
        classes = effective(less_whole)
        if together is None:
            return cls(value, without, less_whole, 0.0, classes)
        too_much = float(share(together, whole**2))
        return cls(value, without, less_whole, too_much, classes / 2)  # a pair takes two classes


def share(part: np.ndarray | float, whole: np.ndarray | float) -> np.ndarray:
    """part / whole, NaN of nothing."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    nothing = np.full(part.shape, np.nan)
    return np.divide(part, whole, out=nothing, where=whole > 0)


def effective(weights: np.ndarray) -> float:
    """How many equal classes weigh as much as these (Kish): the square of the sum over the sum of squares."""
    squares = float(np.square(weights).sum())
    if squares == 0:
        return 0.0
    return float(weights.sum()) ** 2 / squares


def rate(counted: Jackknife) -> Rate:
    """The interval of a rate over another draw of classes.

    Example (of 20 classes with ten queries each, two thirds succeed, in some classes more than in others):
        >>> import numpy as np
        >>> hits = np.repeat([5, 6, 6, 6, 7, 7, 7, 7, 8, 8], 2)
        >>> found = rate(Jackknife.of_sums(hits.sum(), 200, hits, np.full(20, 10)))
        >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
        (0.67, 0.63, 0.71)
    """
    value = counted.value
    classes = effective(counted.weights)
    without = counted.without[~np.isnan(counted.without)]
    if np.isnan(value) or classes < FEWEST:
        return Rate(value, np.nan, np.nan, classes)
    if min(value, without.min()) <= 0 or max(value, without.max()) >= 1:
        return _rare(value, counted.independent, classes)

    odds = np.log(without / (1 - without))
    away = odds - odds.mean()
    variance = (1 - 1 / len(away)) * float(np.square(away).sum())
    too_much = counted.too_much / (value * (1 - value)) ** 2  # on the scale of log odds
    # what is counted twice makes no more than half of it once too often
    variance -= min(too_much, variance / 2)

    half = _student(min(classes - 1, _freedom(away))) * variance**0.5
    middle = np.log(value / (1 - value))
    low = 1 / (1 + np.exp(half - middle))
    high = 1 / (1 + np.exp(-half - middle))
    return Rate(value, float(low), float(high), classes)


def _freedom(away: np.ndarray) -> float:
    """Degrees of freedom of a variance, the fewer the more of it few values make."""
    squares = np.square(away)
    if not squares.any():
        return float(len(away) - 1)
    fourth = float(np.square(squares).sum())
    kurtosis = len(away) * fourth / float(squares.sum()) ** 2  # 3 of a normal distribution
    by_kurtosis = 2 * len(away) / max(kurtosis - 1, 1e-9)
    return min(len(away) - 1, by_kurtosis)


def _student(freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def _rare(value: float, independent: float, classes: float) -> Rate:
    """The interval where at most one class makes all that happened, or all that did not: Clopper and Pearson's, of one
    class among those that are independent, or of none."""
    from scipy.special import betaincinv

    rarer = min(value, 1 - value)
    touched = 1 if rarer else 0
    reach = float(betaincinv(touched + 1, max(independent - touched, 1e-9), (1 + LEVEL) / 2))
    reach = max(reach, rarer)
    if value < 0.5:
        return Rate(value, 0.0, reach, classes)
    return Rate(value, 1 - reach, 1.0, classes)
