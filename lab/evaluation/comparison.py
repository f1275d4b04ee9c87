"""Another answer to the same query: a second run, or the same run re-ranked."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lab.reranking
from lab.core.results import EmbeddingSet, Evidence, Ranking
from lab.data import ImageSet
from lab.evaluation.collection import COLUMNS, DEPTH, Collection, Places, per_query
from lab.evaluation.identity import Joined

MOST_PAIRS = 4_000_000_000
"""Pairs of a query and an image beyond which nothing is re-ranked: these take five to eight minutes of one core, and
three gigabytes while they do, once at a time."""
ROOM = 12_000_000
"""Neighbours that are kept of all re-ranked queries together: 150 MB."""

_one = threading.Lock()


@dataclass(frozen=True)
class OtherRanking:
    """Another way to rank a gallery.

    title: for people. rank: of some of the queries of `collection`; None where the collection itself, of a second run,
    is the other answer.
    """

    title: str
    collection: Collection
    rank: Callable[[EmbeddingSet], Ranking] | None = None

    def ask(self, item: int) -> Evidence:
        """Rank the gallery for one query image."""
        if self.rank is None:
            return self.collection.ask(item)
        query = self.collection.one(item)
        return Evidence(self.rank(query), query, self.collection.gallery)

    @property
    def columns(self) -> list[str]:
        """What `measure` says of every query."""
        return self.collection.columns if self.rank is None else list(COLUMNS)

    def measure(self) -> dict[str, np.ndarray]:
        """Column to float64 [q], a value for every query of `collection`. May take a minute."""
        if self.rank is None:
            return self.collection.measure()
        query = self.collection.query
        return per_query(Evidence(self.rank(query), query, self.collection.gallery))


def reranked(method: str, whole: Collection) -> OtherRanking:
    """Every query of a split, re-ranked by what neighbours have in common. Takes seconds to minutes.

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
    ranking = whole.rank(whole.exact(depth), whole.query)
    with _one:
        ranking = lab.reranking.create(method, device=whole.device).rerank(ranking, whole.query, whole.gallery)

    def rank(query: EmbeddingSet) -> Ranking:
        return ranking if query is whole.query else only(ranking, int(whole.rows(query.items)[0]))

    return OtherRanking(title, whole, rank)


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
    place = ranking.neighbour_ranks[0]
    counted = np.flatnonzero(place)
    kept = items[ranking.neighbours[0, counted]].tolist()
    return known | dict(zip(kept, place[counted].tolist(), strict=True))


def on_common_images(
    first: Collection, second: Collection, joined: Joined, classes: np.ndarray
) -> tuple[Collection, Collection]:
    """Both collections on the images that both have, under the numbers that the first has for them.

    Right and wrong stay those of each run's own classes. A collection that has no further images stays as it is, where
    its numbers are those of the first.

    Args:
        joined: the images of both, `items` [2 n]. classes: the name of the class that each has in the second, [n].
    """
    mine, theirs = joined.items
    ours = first if joined.sizes[0] == len(joined) else _restricted(first, mine, mine, first.images)
    if joined.same_numbers:
        return ours, second
    images = copy.copy(first.images)
    names = {name: label for label, name in enumerate(images.class_names)}
    for name in classes.tolist():
        names.setdefault(name, len(names))
    images.class_names, images.labels = list(names), images.labels.copy()
    images.labels[mine] = [names[name] for name in classes.tolist()]
    return ours, _restricted(second, theirs, mine, images)


def _restricted(whole: Collection, items: np.ndarray, numbers: np.ndarray, images: ImageSet) -> Collection:
    """Some images of a collection, int64 [n], under other numbers [n] of other images."""
    places = Places(items)

    def part(one: EmbeddingSet) -> EmbeddingSet:
        place = places.of_all(one.items)
        taken = one.take(np.flatnonzero(place >= 0))
        return replace(taken, items=numbers[place[place >= 0]])

    query = part(whole.query)
    gallery = query if whole.same_source else part(whole.gallery)
    return Collection(images, query, gallery, whole.similarity, {}, whole.device)


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
