"""Another answer to the same query: a second run, the same run re-ranked, or the same run searched in two stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import lab.reranking
import lab.search
from app.collection import AT_ONCE, DEPTH, Collection, per_query
from lab.results import Evidence, Ranking


class Rival:
    """Base: `title` for people, `collection` whose gallery the rankings are over, `ask` and `measured` as there."""

    title: str
    collection: Collection

    def ask(self, item: int) -> Evidence:
        """Rank the gallery for one query image."""
        raise NotImplementedError

    @property
    def measured(self) -> dict[str, np.ndarray]:
        """Column to float64 [q], a value for every query of `collection`."""
        raise NotImplementedError


@dataclass
class OtherRun(Rival):
    """A second run on the same images."""

    title: str
    collection: Collection

    def ask(self, item: int) -> Evidence:
        return self.collection.ask(item)

    @property
    def measured(self) -> dict[str, np.ndarray]:
        return self.collection.measured


@dataclass
class Prepared(Rival):
    """Rankings of all queries at once, made by `_rank_all` when first asked for."""

    title: str
    collection: Collection

    def _rank_all(self) -> Ranking:
        raise NotImplementedError

    @cached_property
    def _all(self) -> Ranking:
        refuse_too_much(self.title, self.collection)
        return self._rank_all()

    def ask(self, item: int) -> Evidence:
        query, row = self.collection.one(item), self.collection.row(item)
        return Evidence(only(self._all, row), query, self.collection.gallery)

    @cached_property
    def measured(self) -> dict[str, np.ndarray]:
        return per_query(Evidence(self._all, self.collection.query, self.collection.gallery))


@dataclass
class Reranked(Prepared):
    """The same embeddings, re-ranked by what neighbours have in common."""

    method: str = "k_reciprocal"

    def _rank_all(self) -> Ranking:
        whole = self.collection
        index = lab.search.create("exact", k=min(DEPTH, len(whole.gallery)), similarity=whole.similarity)
        ranking = index.build(whole.gallery).rank(whole.query, same_source=whole.same_source)
        return lab.reranking.create(self.method).rerank(ranking, whole.query, whole.gallery)


@dataclass
class TwoStage(Rival):
    """The same embeddings, compared only with the items filed under the nearest class anchors.

    anchors: float32 [c d]; anchor_labels: int64 [c]; visited: anchors whose files each query opens.
    """

    title: str
    collection: Collection
    anchors: np.ndarray
    anchor_labels: np.ndarray
    visited: int = 1

    @cached_property
    def _index(self) -> Any:
        whole = self.collection
        index = lab.search.create(
            "two_stage", k=min(DEPTH, len(whole.gallery)), similarity=whole.similarity, visited=self.visited
        )
        return index.build(whole.gallery, self.anchors, self.anchor_labels)

    def ask(self, item: int) -> Evidence:
        whole = self.collection
        query = whole.one(item)
        return Evidence(self._index.rank(query, same_source=whole.same_source), query, whole.gallery)

    @cached_property
    def measured(self) -> dict[str, np.ndarray]:
        whole = self.collection
        refuse_too_much(self.title, whole)
        ranking = self._index.rank(whole.query, same_source=whole.same_source)
        return per_query(Evidence(ranking, whole.query, whole.gallery))


def refuse_too_much(title: str, whole: Collection) -> None:
    """Stop before all pairs of a large split are looked at while somebody waits.

    Raises:
        ValueError: there are more than `AT_ONCE`.
    """
    size = len(whole.query) * len(whole.gallery)
    if size > AT_ONCE:
        raise ValueError(
            f"{title} looks at all {size:,} pairs of this split, too many while somebody waits; compare runs that were "
            "evaluated on a smaller split."
        )


def only(ranking: Ranking, row: int) -> Ranking:
    """One query of a ranking, as a ranking."""
    one, mine = slice(row, row + 1), slice(ranking.offsets[row], ranking.offsets[row + 1])
    per_row = ("neighbours", "scores", "query_labels", "self_index", "retrieved", "comparisons")
    parts: dict[str, Any] = {name: getattr(ranking, name)[one] for name in per_row}
    grades = None if ranking.positive_grades is None else ranking.positive_grades[mine]
    return replace(
        ranking,
        **parts,
        offsets=np.array([0, mine.stop - mine.start]),
        positive_items=ranking.positive_items[mine],
        positive_ranks=ranking.positive_ranks[mine],
        positive_grades=grades,
    )


def ranks(evidence: Evidence) -> dict[int, int]:
    """Image to its rank, for the neighbours that were kept and for every positive."""
    ranking, items = evidence.ranking, evidence.gallery.items
    positions, found = ranking.positives(0)
    known = dict(zip(items[positions].tolist(), found.tolist(), strict=True))
    kept = ranking.neighbours[0][ranking.neighbours[0] >= 0]
    return known | {item: rank for rank, item in enumerate(items[kept].tolist(), start=1)}


def changes(one: Rival | Collection, other: Rival, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries that both answer, with their values: items int64 [n], values of the one and of the other [n].

    Queries that no metric counts are left out.
    """
    whole = one if isinstance(one, Collection) else one.collection
    left, right = one.measured[column], other.measured[column]
    rows = [(row, other.collection.row(int(item))) for row, item in enumerate(whole.query.items)]
    pairs = np.array([(a, b) for a, b in rows if b is not None], np.int64).reshape(-1, 2)
    before, after = left[pairs[:, 0]], right[pairs[:, 1]]
    counted = ~(np.isnan(before) | np.isnan(after))
    return whole.query.items[pairs[counted, 0]], before[counted], after[counted]
