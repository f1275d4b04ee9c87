"""What every metric shares: its facts, the ranks it reads, and how per-query values become one."""

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
"""Grades that count as positive in each protocol of Revisited Oxford/Paris; the other relevant items are junk."""


class Metric(HasKnobs):
    """Base of every metric.

    Class facts, which tables, plots and tests read:
        higher_is_better: the direction of improvement.
        bounds: least and greatest possible value.
        needs: what must be in the evidence: "ranking", "embeddings", "anchors", "classifier" or "levels".
        reads_gallery: whether it reads the gallery's vectors and not the ranking alone; such a metric cannot measure a
            gallery that does not fit into memory.
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
            setattr(cls, "__call__", _of_evidence(cls.__call__))  # noqa: B010  # an entry's own, with a check before it


def _of_evidence(measure: Callable[..., Measurement]) -> Callable[..., Measurement]:
    """Wrap a metric's call: it refuses what is no evidence, and measures only the images whose class is known.

    Queries without a class get NaN in every column, and are excluded.
    """

    @functools.wraps(measure)
    def checked(self: Metric, *evidence: Any) -> Measurement:
        if len(evidence) != 1 or not isinstance(evidence[0], Evidence):
            raise ValueError(
                f"{type(self).__name__} measures evidence, a ranking with the embeddings it was made from, got "
                f"{' and '.join(type(one).__name__ for one in evidence) or 'nothing'}; give "
                "lab.core.results.Evidence(ranking, query, gallery), or call lab.evaluate(vectors, labels, metrics)."
            )
        whole = evidence[0]
        if not whole.has_unknown:
            return measure(self, whole)
        rows = np.flatnonzero(labelled(whole.ranking.query_labels))
        if not len(rows) or whole.ranking.left_out == len(whole.ranking.gallery_labels):
            return _nothing(measure(self, whole), len(whole.ranking))
        return _widened(measure(self, whole.of_labelled(self.reads_gallery)), rows, len(whole.ranking))

    return checked


def _nothing(measured: Measurement, count: int) -> Measurement:
    """Return the same columns for `count` queries of which none can be judged: NaN."""
    values = dict.fromkeys(measured.values, float("nan"))
    return Measurement(values, {column: np.full(count, np.nan) for column in measured.per_query}, count)


def _widened(measured: Measurement, rows: np.ndarray, count: int) -> Measurement:
    """Return what was measured on the queries at `rows` as the measurement of `count` queries."""
    per_query = {}
    for column, values in measured.per_query.items():
        per_query[column] = np.full(count, np.nan)
        per_query[column][rows] = values
    return Measurement(measured.values, per_query, measured.excluded + count - len(rows))


@dataclass(frozen=True)
class PositiveRanks:
    """The ranks of all positives of q queries, one flat array.

    owner: int64 [p], query of each positive, ascending.
    rank: int64 [p], 1-based rank in the list without junk, ascending within a query; `UNRANKED` if never retrieved.
    place: int64 [p], 1-based place among the query's own positives.
    total: int64 [q], positives of each query, retrieved or not.
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
        """From relevances bool [q g], each row in the order of its ranking, and how many positives no row holds."""
        owner, column = np.nonzero(relevant)
        place = np.cumsum(relevant, axis=1)[owner, column]
        return cls(owner, column + 1, place, relevant.sum(axis=1) + missing)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """float64 [q]: per-query sums of one value for each positive."""
        return np.bincount(self.owner, weights=values, minlength=len(self.total))

    def share(self, sums: np.ndarray, of: np.ndarray) -> np.ndarray:
        """`sums / of` for queries with positives (0 where `of` is 0), NaN for the others."""
        shares = np.divide(sums, of, out=np.zeros(len(sums)), where=of > 0)
        return np.where(self.total > 0, shares, np.nan)


def positive_ranks(ranking: Ranking, protocol: Protocol = "medium") -> PositiveRanks:
    """Ranks of the positives, with junk taken out of the list when relevance was judged by grade.

    Where relevance is equality of labels, every positive is easy and there is no junk.
    """
    owner = np.repeat(np.arange(len(ranking)), ranking.num_positives)
    grades = np.full(len(owner), EASY) if ranking.positive_grades is None else ranking.positive_grades
    lost, positive = ranking.positive_ranks == UNRANKED, np.isin(grades, COUNTED[protocol])

    def running(flags: np.ndarray) -> np.ndarray:
        """int64 [p]: how many flags are set within the same query up to and including each entry."""
        count = np.cumsum(flags)
        return count - np.concatenate([[0], count])[ranking.offsets[:-1]][owner]

    rank = np.where(lost, UNRANKED, ranking.positive_ranks - running(~positive & ~lost))[positive]
    total = np.bincount(owner[positive], minlength=len(ranking))
    return PositiveRanks(owner[positive], rank, running(positive)[positive], total)


def of_known(predicted: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """float64 [q]: whether predicted labels are right; NaN for a label that is not among the known ones."""
    return np.where(np.isin(labels, known), predicted == labels, np.nan)


def measurement(per_query: dict[str, np.ndarray]) -> Measurement:
    """Means over the queries that count; NaN marks the ones that do not.

    When no query counts the value is NaN, too: nothing was measured.
    """
    values, excluded = {}, 0
    for name, column in per_query.items():
        counts = ~np.isnan(column)
        values[name] = float(column[counts].mean()) if counts.any() else float("nan")
        excluded = int((~counts).sum())
    return Measurement(values, per_query, excluded)
