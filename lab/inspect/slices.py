"""Where a score is low: by what is known of the images, one field at a time or two together.

A slice is all queries that share a value of a field, or of two. The search tries every one that is large enough and
ranks them by the upper end of their interval, so that slices which are surely bad come before those that are so by
chance; since it looks at many, each interval is as wide as that number asks for (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lab.inspect.data_checks import SURE


@dataclass(frozen=True)
class Slice:
    """Queries that share some values, and their mean score.

    where: field and value, one or two.
    queries: how many have a score.
    mean, low, high: the mean score and its interval, within 0..1.
    """

    where: tuple[tuple[str, str], ...]
    queries: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class WorstSlices:
    """What a search for slices found: the worst first, the mean of all queries, and how many slices were tried."""

    slices: tuple[Slice, ...]
    overall: float
    tried: int


def slices_of(values: np.ndarray, field: str, column: np.ndarray, sure: float = SURE) -> list[Slice]:
    """The mean score of the queries with each value of one field, the worst first.

    Args:
        values: float64 [q], scores in 0..1; NaN where a query has none.
        column: str [q]; an empty value is no slice.
        sure: share of all repetitions in which an interval would hold its true mean (Student's t).

    Example:
        >>> import numpy as np
        >>> scores = np.array([0.9, 0.8, 0.1, 0.3, np.nan])
        >>> found = slices_of(scores, "vendor", np.array(["a", "a", "b", "b", "b"]))
        >>> [(one.where[0][1], one.queries, round(one.mean, 2)) for one in found]
        [('b', 2, 0.2), ('a', 2, 0.85)]
    """
    slices = [_slice(((field, name),), scores, sure) for name, scores in _groups(values, column)]
    return sorted(slices, key=lambda one: (one.mean, one.where))


def worst_slices(values: np.ndarray, columns: Mapping[str, np.ndarray], least: int = 10, most: int = 50) -> WorstSlices:
    """The slices of one or two fields with the lowest scores; those of two only where they are worse than both alone.

    Args:
        values: float64 [q], scores in 0..1; NaN where a query has none.
        columns: field to str [q].
        least: queries that a slice must have, at least two.
        most: slices to return.

    Raises:
        ValueError: `least` is below two.

    Example:
        >>> import numpy as np
        >>> scores = np.r_[np.tile([0.8, 0.9], 10), np.tile([0.1, 0.2], 10)]
        >>> columns = {"vendor": np.repeat(["a", "b"], 20), "colour": np.tile(["red", "red", "blue", "blue"], 10)}
        >>> found = worst_slices(scores, columns)
        >>> found.slices[0].where, found.tried
        ((('vendor', 'b'),), 8)
    """
    if least < 2:
        raise ValueError(f"A slice needs at least two queries to have an interval, got {least}.")
    tried = [one for one in _candidates(values, columns) if len(one[1]) >= least]
    sure = 1 - (1 - SURE) / max(1, len(tried))
    means = {where: float(scores.mean()) for where, scores in tried}
    kept = [
        _slice(where, scores, sure)
        for where, scores in tried
        if len(where) == 1 or all(means[where] < means.get((one,), np.inf) for one in where)
    ]
    kept.sort(key=lambda one: (one.high, one.mean, one.where))
    counted = values[~np.isnan(values)]
    return WorstSlices(tuple(kept[:most]), float(counted.mean()) if len(counted) else np.nan, len(tried))


def _candidates(
    values: np.ndarray, columns: Mapping[str, np.ndarray]
) -> Iterator[tuple[tuple[tuple[str, str], ...], np.ndarray]]:
    for field, column in columns.items():
        yield from ((((field, name),), scores) for name, scores in _groups(values, column))
    for (one, first), (other, second) in combinations(columns.items(), 2):
        both = (first != "") & (second != "")
        codes = [np.unique(column, return_inverse=True) for column in (first, second)]
        joined = np.where(both, codes[0][1] * len(codes[1][0]) + codes[1][1], -1)
        for code, scores in _groups(values, joined.astype(str), nothing="-1"):
            left, right = divmod(int(code), len(codes[1][0]))
            yield ((one, str(codes[0][0][left])), (other, str(codes[1][0][right]))), scores


def _groups(values: np.ndarray, column: np.ndarray, nothing: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Each value of a column with the scores that there are of it."""
    kept = ~np.isnan(values) & (column != nothing)
    names, rows = np.unique(column[kept], return_inverse=True)
    order = np.argsort(rows, kind="stable")
    parts = np.split(values[kept][order], np.cumsum(np.bincount(rows, minlength=len(names)))[:-1])
    yield from zip(map(str, names), parts, strict=False)


def _slice(where: tuple[tuple[str, str], ...], scores: np.ndarray, sure: float) -> Slice:
    from scipy import stats

    count, mean = len(scores), float(scores.mean())
    if count < 2:
        return Slice(where, count, mean, np.nan, np.nan)
    half = float(stats.t.ppf((1 + sure) / 2, count - 1) * scores.std(ddof=1) / np.sqrt(count))
    return Slice(where, count, mean, max(0.0, mean - half), min(1.0, mean + half))
