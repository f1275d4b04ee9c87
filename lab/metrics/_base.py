"""Base class of all metrics, the ranks that they read, and the mean over queries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lab.core.knobs import HasKnobs
from lab.core.knobs import knob as knob
from lab.core.results import EASY, HARD, UNRANKED, Evidence, Measurement, Ranking, labelled

Protocol = Literal["easy", "medium", "hard"]

COUNTED = {"easy": (EASY,), "medium": (EASY, HARD), "hard": (HARD,)}
"""Grades that count as positive in each protocol of Revisited Oxford/Paris; other relevant items are junk."""


class Metric(HasKnobs):
    """Base class of all metrics.

    Tables, plots and tests read these class attributes:
        higher_is_better: the direction of improvement.
        bounds: lowest and highest possible value.
        needs: the part of the evidence that the metric reads: "ranking", "embeddings", "anchors", "classifier" or
            "levels".
        reads_gallery: whether the metric reads the gallery's vectors, not only the ranking; such a metric cannot
            measure a gallery that does not fit into memory.
    """

    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[Literal["ranking", "embeddings", "anchors", "classifier", "levels"]] = "ranking"
    reads_gallery: ClassVar[bool] = False

    def __call__(self, evidence: Evidence) -> Measurement:
        raise NotImplementedError

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__call__" in vars(cls):
            setattr(cls, "__call__", _validated(cls.__call__))  # noqa: B010  # wrap the entry's own call


def _validated(measure: Callable[..., Measurement]) -> Callable[..., Measurement]:
    """Wrap a metric's call: it accepts only `Evidence`, and measures only the images whose class is known.

    Queries without a class get NaN in every column and are excluded.
    """

    @functools.wraps(measure)
    def checked_call(self: Metric, *arguments: Any) -> Measurement:
        if len(arguments) != 1 or not isinstance(arguments[0], Evidence):
            types = " and ".join(type(argument).__name__ for argument in arguments)
            raise ValueError(
                f"{type(self).__name__} measures evidence, a ranking together with its embeddings, got "
                f"{types or 'nothing'}; pass lab.core.results.Evidence(ranking, query, gallery), call "
                "lab.evaluate(vectors, labels, metrics), or use lab.metrics.functional for scores."
            )
        evidence = arguments[0]
        if not evidence.has_unknown:
            return measure(self, evidence)

        count = len(evidence.ranking)
        rows = np.flatnonzero(labelled(evidence.ranking.query_labels))
        if not len(rows) or evidence.ranking.left_out == len(evidence.ranking.gallery_labels):
            return _all_excluded(measure(self, evidence), count)
        return _widened(measure(self, evidence.of_labelled(self.reads_gallery)), rows, count)

    return checked_call


def _all_excluded(measured: Measurement, count: int) -> Measurement:
    """Return a measurement with the same columns in which all `count` queries are excluded (NaN)."""
    values = dict.fromkeys(measured.values, float("nan"))
    per_query = {column: np.full(count, np.nan) for column in measured.per_query}
    return Measurement(values, per_query, count)


def _widened(measured: Measurement, rows: np.ndarray, count: int) -> Measurement:
    """Extend a measurement of the queries at `rows` to all `count` queries, with NaN for the others."""
    per_query = {}
    for column, values in measured.per_query.items():
        per_query[column] = np.full(count, np.nan)
        per_query[column][rows] = values
    return Measurement(measured.values, per_query, measured.excluded + count - len(rows))


@dataclass(frozen=True)
class PositiveRanks:
    """The ranks of all positives of q queries, in one flat array.

    owner: int64 [p], query of each positive, ascending.
    rank: int64 [p], 1-based rank in the list without junk, ascending within a query; `UNRANKED` if never retrieved.
    place: int64 [p], 1-based rank among the query's own positives.
    total: int64 [q], number of positives of each query, retrieved or not.
    """

    owner: np.ndarray
    rank: np.ndarray
    place: np.ndarray
    total: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """float64 [p]: precision at the rank of each positive; 0 for one that was never retrieved."""
        return np.where(self.rank == UNRANKED, 0.0, self.place / self.rank)

    @property
    def average_precision(self) -> np.ndarray:
        """float64 [q]: mean precision at the positives, 0 for one that was never retrieved; NaN without any."""
        return self.share(self.sum(self.precision), self.total)

    @classmethod
    def of_lists(cls, relevant: np.ndarray, missing: int = 0) -> PositiveRanks:
        """Read the ranks from relevance, bool [q g], each row in the order of its ranking.

        missing: number of positives of each query that its row does not hold; they count as never retrieved.
        """
        owner, column = np.nonzero(relevant)
        place = np.cumsum(relevant, axis=1)[owner, column]
        return cls(owner, column + 1, place, relevant.sum(axis=1) + missing)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum values of positives, [p], per query: float64 [q]."""
        return np.bincount(self.owner, weights=values, minlength=len(self.total))

    def share(self, sums: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Divide `sums` by `of` for queries with positives (0 where `of` is 0); NaN for the other queries."""
        shares = np.divide(sums, of, out=np.zeros(len(sums)), where=of > 0)
        return np.where(self.total > 0, shares, np.nan)


def positive_ranks(ranking: Ranking, protocol: Protocol = "medium") -> PositiveRanks:
    """Read the ranks of the positives from a ranking; if relevance was judged by grade, junk is removed from the list.

    If relevance is equality of labels, every positive is easy and there is no junk.
    """
    owner = np.repeat(np.arange(len(ranking)), ranking.num_positives)
    grades = ranking.positive_grades
    if grades is None:
        grades = np.full(len(owner), EASY)
    positive = np.isin(grades, COUNTED[protocol])
    lost = ranking.positive_ranks == UNRANKED

    def running_count(flags: np.ndarray) -> np.ndarray:
        """int64 [p]: how many flags are set within the same query up to and including each entry."""
        count = np.cumsum(flags)
        before_query = np.concatenate([[0], count])[ranking.offsets[:-1]]
        return count - before_query[owner]

    # Removing junk from the list moves the items behind it up.
    junk_before = running_count(~positive & ~lost)
    rank = np.where(lost, UNRANKED, ranking.positive_ranks - junk_before)
    place = running_count(positive)
    total = np.bincount(owner[positive], minlength=len(ranking))
    return PositiveRanks(owner[positive], rank[positive], place[positive], total)


def accuracy(predicted: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """float64 [q]: whether each predicted label is right; NaN for a query whose label is not among the known ones."""
    return np.where(np.isin(labels, known), predicted == labels, np.nan)


def measurement(per_query: dict[str, np.ndarray]) -> Measurement:
    """Average columns of per-query values over the queries that are not NaN; NaN marks excluded queries.

    If all queries are excluded, the mean is NaN, too.
    """
    values = {}
    excluded = 0
    for name, column in per_query.items():
        counted = ~np.isnan(column)
        values[name] = float(column[counted].mean()) if counted.any() else float("nan")
        excluded = int((~counted).sum())
    return Measurement(values, per_query, excluded)
