"""A mean and how far it can be trusted, from a few repeated measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lab.core.stored import Number, Numbers, Stored, check

LEVEL = 0.95
"""Confidence of every interval, unless told otherwise."""


class EstimateFile(Stored):
    """What `Estimate.as_dict` writes; NaN and infinity are null."""

    mean: Number | None
    deviation: Number | None
    low: Number | None
    high: Number | None
    values: Annotated[Numbers, Field(min_length=1)]


@dataclass(frozen=True)
class Estimate:
    """The mean of repeated measurements.

    deviation: sample standard deviation (n - 1 in the denominator), None for a single measurement.
    low, high: ends of the confidence interval of the mean, by Student's t; None for a single measurement.
    values: the measurements themselves, in the order in which they were made.
    """

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], level: float = LEVEL) -> Estimate:
        """From at least one measurement; NaN among them makes everything NaN, infinity all but the mean.

        Raises:
            ValueError: there is none, or `level` is not between 0 and 1.
        """
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.ndim != 1 or not len(numbers):
            raise ValueError(f"An estimate needs at least one measurement, got {list(values)!r}.")
        if not 0 < level < 1:
            raise ValueError(f"The confidence must lie between 0 and 1, got {level}.")
        kept = tuple(numbers.tolist())
        if len(numbers) == 1:
            return cls(kept[0], None, None, None, kept)
        with np.errstate(invalid="ignore"):  # infinity less infinity is NaN
            mean, deviation = float(numbers.mean()), float(numbers.std(ddof=1))
        half = _student(level, len(numbers) - 1) * deviation / np.sqrt(len(numbers))
        return cls(mean, deviation, float(mean - half), float(mean + half), kept)

    @classmethod
    def read(cls, stored: Mapping[str, Any], name: str = "The estimate") -> Estimate:
        """Return the estimate that `as_dict` gave, also by way of JSON, where NaN is null.

        Args:
            name: what a message calls it.

        Raises:
            ValueError: it is none; names the field.
        """
        found = check(stored, EstimateFile, name)
        mean = found["mean"]
        values = tuple(float("nan") if value is None else value for value in found["values"])
        return cls(
            float("nan") if mean is None else mean,
            found["deviation"],
            found["low"],
            found["high"],
            values,
        )

    @property
    def count(self) -> int:
        """How many measurements."""
        return len(self.values)

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.high is None else self.high - self.mean

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "values": list(self.values)}

    def __str__(self) -> str:
        """As a table shows it: `0.613 ± 0.004`, the half width of the interval behind the sign."""
        return f"{self.mean:.4f}" if self.half is None else f"{self.mean:.4f} ± {self.half:.4f}"


def paired(after: Estimate, before: Estimate, level: float = LEVEL) -> Estimate:
    """The gain of one setting over another, measurement by measurement: what both owe to the seed cancels.

    Raises:
        ValueError: they were not measured equally often.
    """
    if after.count != before.count:
        raise ValueError(
            f"Gains are taken seed by seed, but there are {after.count} and {before.count} measurements."
        )
    return Estimate.of([a - b for a, b in zip(after.values, before.values, strict=True)], level)


def deviation(values: Sequence | np.ndarray, axis: int = -1) -> np.ndarray:
    """Sample standard deviation along an axis (n - 1 in the denominator); 0 for a lone value, which shows no spread."""
    values = np.asarray(values, dtype=np.float64)
    return values.std(axis=axis, ddof=min(1, values.shape[axis] - 1))


def _student(level: float, freedom: int) -> float:
    """The quantile of Student's t that leaves (1 - level) / 2 above it."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))
