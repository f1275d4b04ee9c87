"""Another answer to the same query: a second run, the same run re-ranked, or the same run searched in two stages."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lab.reranking
import lab.search
from app.answers.two_stage_cost import FiledGallery
from app.results.collection import COLUMNS, DEPTH, Collection, per_query
from lab.core.results import Evidence, Ranking

MOST_PAIRS = 4_000_000_000
"""Pairs of a query and an image beyond which nothing is re-ranked: these take five to eight minutes of one core, and
three gigabytes while they do, once at a time."""
ROOM = 12_000_000
"""Neighbours that are kept of all re-ranked queries together: 150 MB."""

_one = threading.Lock()


class OtherRanking:
    """Base: `title` for people, `collection` whose gallery the rankings are over, `ask` and `measure` as there."""

    title: str
    collection: Collection

    def ask(self, item: int) -> Evidence:
        """Rank the gallery for one query image."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        """What `measure` says of every query."""
        return list(COLUMNS)

    def measure(self) -> dict[str, np.ndarray]:
        """Column to float64 [q], a value for every query of `collection`. May take a minute."""
        raise NotImplementedError


@dataclass(frozen=True)
class OtherRun(OtherRanking):
    """A second run on the same images."""

    title: str
    collection: Collection

    def ask(self, item: int) -> Evidence:
        return self.collection.ask(item)

    @property
    def columns(self) -> list[str]:
        return self.collection.columns

    def measure(self) -> dict[str, np.ndarray]:
        return self.collection.measure()


@dataclass(frozen=True)
class Reranked(OtherRanking):
    """The same embeddings, re-ranked by what neighbours have in common. ranking: of all queries."""

    title: str
    collection: Collection
    ranking: Ranking

    @classmethod
    def by(cls, method: str, whole: Collection) -> Reranked:
        """Re-rank every query of a split. Takes seconds to minutes.

        Raises:
            ValueError: the split has more than `MOST_PAIRS`.
        """
        title, pairs = f"re-ranked, {method.replace('_', '-')}", len(whole.query) * len(whole.gallery)
        if pairs > MOST_PAIRS:
            raise ValueError(
                f"{title} looks at all {pairs:,} pairs of this split, and more than {MOST_PAIRS:,} are too many; "
                "compare runs that were evaluated on a smaller split."
            )
        depth = min(DEPTH, max(1, ROOM // len(whole.query)))
        ranking = whole.exact(depth).rank(whole.query, same_source=whole.same_source)
        reranker = lab.reranking.create(method, device=whole.device)
        with _one:
            return cls(title, whole, reranker.rerank(ranking, whole.query, whole.gallery))

    def ask(self, item: int) -> Evidence:
        query, row = self.collection.one(item), self.collection.row(item)
        assert row is not None, item
        return Evidence(only(self.ranking, row), query, self.collection.gallery)

    def measure(self) -> dict[str, np.ndarray]:
        return per_query(Evidence(self.ranking, self.collection.query, self.collection.gallery))


@dataclass(frozen=True)
class TwoStage(OtherRanking):
    """The same embeddings, compared only with the images filed under the nearest class anchors.

    probes: anchors whose files each query opens.
    """

    filed: FiledGallery
    probes: int = 1

    @property
    def title(self) -> str:  # type: ignore[override]  # read, and never written, of every other ranking
        whose = "learnt anchors" if self.filed.anchors.learnt else "class means"
        return f"two-stage by {whose}, {self.probes} of {self.filed.count:,} probed"

    @property
    def collection(self) -> Collection:  # type: ignore[override]
        return self.filed.collection

    def ask(self, item: int) -> Evidence:
        query = self.collection.one(item)
        return Evidence(self.filed.rank(query, self.probes), query, self.collection.gallery)

    def measure(self) -> dict[str, np.ndarray]:
        query = self.collection.query
        return per_query(Evidence(self.filed.rank(query, self.probes), query, self.collection.gallery))


@dataclass(frozen=True)
class Searched(OtherRanking):
    """The same embeddings, searched by an approximate index that answers from little memory."""

    title: str
    collection: Collection
    index: lab.search.Index

    @classmethod
    def by(cls, engine: str, whole: Collection) -> Searched:
        """Build the index, and measure what it finds of the ten nearest. Takes seconds to minutes.

        Raises:
            ImportError: the engine's library is missing; says what to install.
        """
        depth = min(DEPTH, len(whole.gallery))
        index = lab.search.create(engine, k=depth, similarity=whole.similarity).build(whole.gallery)
        share = lab.search.recall(index, whole.gallery)
        return cls(f"searched by {engine}, recall@10 against exact search {share:.3f}", whole, index)

    def ask(self, item: int) -> Evidence:
        query = self.collection.one(item)
        ranking = self.index.rank(query, same_source=self.collection.same_source)
        return Evidence(ranking, query, self.collection.gallery)

    def measure(self) -> dict[str, np.ndarray]:
        query = self.collection.query
        ranking = self.index.rank(query, same_source=self.collection.same_source)
        return per_query(Evidence(ranking, query, self.collection.gallery))


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
    positions, place = ranking.positives(0)
    known = dict(zip(items[positions].tolist(), place.tolist(), strict=True))
    kept = ranking.neighbours[0][ranking.neighbours[0] >= 0]
    return known | {item: rank for rank, item in enumerate(items[kept].tolist(), start=1)}


def changes(
    one: Collection, other: Collection, before: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries that both answer, with their values: items int64 [n], values of the one and of the other [n].

    Queries that no metric counts are left out.

    Args:
        before, after: a value for every query of the one [q] and of the other [r].
    """
    there = other.rows(one.query.items)
    both = np.flatnonzero(there >= 0)
    before, after = before[both], after[there[both]]
    counted = ~(np.isnan(before) | np.isnan(after))
    return one.query.items[both[counted]], before[counted], after[counted]
