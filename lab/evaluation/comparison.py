"""Another answer to the same query: a second run, or the same run re-ranked."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import lab.reranking
from lab.core.results import EmbeddingSet, Evidence, Ranking
from lab.data import ImageSet
from lab.evaluation.collection import COLUMNS, DEPTH, Collection, Places, per_query
from lab.evaluation.identity import Joined

MOST_PAIRS = 4_000_000_000
"""Most pairs of a query and an image that are re-ranked: these take five to eight minutes of one core and three
gigabytes."""
ROOM = 12_000_000
"""Neighbours that are kept of all re-ranked queries together: 150 MB."""

_one = threading.Lock()


@dataclass(frozen=True)
class OtherRanking:
    """Another way to rank a gallery.

    title: for people. rank: ranks some of the queries of `collection`; None if the collection itself, of a second run,
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
        """Columns that `measure` returns."""
        return self.collection.columns if self.rank is None else list(COLUMNS)

    def measure(self) -> dict[str, np.ndarray]:
        """Return column to float64 [q], a value for every query of `collection`. May take a minute."""
        if self.rank is None:
            return self.collection.measure()
        query = self.collection.query
        return per_query(Evidence(self.rank(query), query, self.collection.gallery))


def reranked(method: str, whole: Collection) -> OtherRanking:
    """Re-rank every query of a split by the neighbours that images have in common. Takes seconds to minutes.

    Raises:
        ValueError: the split has more than `MOST_PAIRS`.
    """
    title = f"re-ranked, {method.replace('_', '-')}"
    pairs = len(whole.query) * len(whole.gallery)
    if pairs > MOST_PAIRS:
        raise ValueError(
            f"{title} looks at all {pairs:,} pairs of this split, and more than {MOST_PAIRS:,} are too many; "
            "compare runs that were evaluated on a smaller split."
        )
    depth = min(DEPTH, max(1, ROOM // len(whole.query)))
    ranking = whole.rank(whole.exact(depth), whole.query)
    with _one:
        ranking = lab.reranking.create(method, device=whole.device).rerank(
            ranking, whole.query, whole.gallery
        )

    def rank(query: EmbeddingSet) -> Ranking:
        if query is whole.query:
            return ranking
        return only(ranking, int(whole.rows(query.items)[0]))

    return OtherRanking(title, whole, rank)


def only(ranking: Ranking, row: int) -> Ranking:
    """Return one query of a ranking as a ranking."""
    query = slice(row, row + 1)
    positives = slice(ranking.offsets[row], ranking.offsets[row + 1])
    grades = ranking.positive_grades
    return replace(
        ranking,
        neighbours=ranking.neighbours[query],
        scores=ranking.scores[query],
        query_labels=ranking.query_labels[query],
        self_index=ranking.self_index[query],
        retrieved=ranking.retrieved[query],
        comparisons=ranking.comparisons[query],
        offsets=np.array([0, positives.stop - positives.start]),
        positive_items=ranking.positive_items[positives],
        positive_ranks=ranking.positive_ranks[positives],
        positive_grades=None if grades is None else grades[positives],
    )


def ranks(evidence: Evidence) -> dict[int, int]:
    """Return image to its rank, for the neighbours that were kept and for every positive."""
    ranking = evidence.ranking
    items = evidence.gallery.items
    positions, positive_ranks = ranking.positives(0)
    rank_of = dict(zip(items[positions].tolist(), positive_ranks.tolist(), strict=True))
    neighbour_ranks = ranking.neighbour_ranks[0]
    counted = np.flatnonzero(neighbour_ranks)
    neighbours = items[ranking.neighbours[0, counted]].tolist()
    return rank_of | dict(zip(neighbours, neighbour_ranks[counted].tolist(), strict=True))


def on_common_images(
    first: Collection, second: Collection, joined: Joined, classes: np.ndarray
) -> tuple[Collection, Collection]:
    """Return both collections on the images that both have, with the numbers of the first.

    Right and wrong stay those of each run's own classes. A collection without further images is returned as it is, if
    its numbers are those of the first.

    Args:
        joined: the images of both, `items` [2 n]. classes: the name of the class that each has in the second, [n].
    """
    numbers, second_numbers = joined.items
    restricted = first
    if joined.sizes[0] != len(joined):
        restricted = _restricted(first, numbers, numbers, first.images)
    if joined.same_numbers:
        return restricted, second
    images = copy.copy(first.images)
    names = {name: label for label, name in enumerate(images.class_names)}
    for name in classes.tolist():
        names.setdefault(name, len(names))
    images.class_names = list(names)
    images.labels = images.labels.copy()
    images.labels[numbers] = [names[name] for name in classes.tolist()]
    return restricted, _restricted(second, second_numbers, numbers, images)


def _restricted(
    whole: Collection, items: np.ndarray, numbers: np.ndarray, images: ImageSet
) -> Collection:
    """Return some images of a collection, int64 [n], with other numbers [n] of other images."""
    positions = Places(items)

    def part(embeddings: EmbeddingSet) -> EmbeddingSet:
        position = positions.of_all(embeddings.items)
        taken = embeddings.take(np.flatnonzero(position >= 0))
        return replace(taken, items=numbers[position[position >= 0]])

    query = part(whole.query)
    gallery = query if whole.same_source else part(whole.gallery)
    return Collection(images, query, gallery, whole.similarity, {}, whole.device)


def changes(
    one: Collection, other: Collection, before: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the queries of both with their values: items int64 [n], values of the first and of the second [n].

    Queries that no metric counts are left out.

    Args:
        before, after: a value for every query of the first [q] and of the second [r].
    """
    rows = other.rows(one.query.items)
    both = np.flatnonzero(rows >= 0)
    before = before[both]
    after = after[rows[both]]
    counted = ~(np.isnan(before) | np.isnan(after))
    return one.query.items[both[counted]], before[counted], after[counted]
