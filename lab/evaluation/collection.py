"""One split of one run, ready to be searched in its full embedding space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

import lab.metrics
import lab.search
from lab.core.results import EmbeddingSet, Evidence, Ranking
from lab.data import ImageSet
from lab.evaluation.scores import left_out_sentence

DEPTH = 480
"""Neighbours kept for the query on screen, as many as its pages can show. Ranks of positives are known at any depth."""

AT_ONCE = 60_000_000
"""Similarities that are computed at once without asking (about a second)."""

PER_QUERY = {
    "hit_rate_at_k": {"k": (1, 4)},
    "mean_average_precision": {},
    "map_at_r": {},
    "r_precision": {},
    "mean_reciprocal_rank": {},
}
"""The metrics that judge a single query, with their knobs."""
COLUMNS = ("r@1", "r@4", "mAP", "MAP@R", "R-precision", "MRR")
"""The columns of `PER_QUERY`."""


class Places:
    """Positions of numbers in an array int64 [n] of distinct numbers; for a million of them a dict would be slow.

    Example:
        >>> from lab.evaluation.collection import Places
        >>> import numpy as np
        >>> places = Places(np.array([7, 3, 9]))
        >>> places.of(3), places.of(4)
        (1, None)
    """

    def __init__(self, items: np.ndarray):
        import pandas as pd

        self._items = pd.Index(items)

    def of(self, item: object) -> int | None:
        """Return the position of a number, or None if it is absent."""
        if not isinstance(item, int | np.integer):
            return None
        position = int(self._items.get_indexer([item])[0])
        return None if position < 0 else position

    def of_all(self, items: np.ndarray) -> np.ndarray:
        """Return the positions int64 [m] of several numbers [m], -1 for absent ones."""
        return self._items.get_indexer(items)


@dataclass(frozen=True)
class Collection:
    """Queries and gallery of one split.

    gallery: `query` itself when images are searched among each other.
    stored: per-query columns float64 [q] of the run's evaluation.
    device: where to search.
    distractors: whether gallery images without a class count as wrong answers, as in the run's evaluation.
    """

    images: ImageSet
    query: EmbeddingSet
    gallery: EmbeddingSet
    similarity: str = "cosine"
    stored: Mapping[str, np.ndarray] = field(default_factory=dict)
    device: str = "cpu"
    distractors: bool = False

    @property
    def same_source(self) -> bool:
        return self.gallery is self.query

    @cached_property
    def judged(self) -> bool:
        """Whether any query has a true match."""
        classes = self.query.labels[self.query.labelled]
        if self.same_source:
            return len(np.unique(classes)) < len(classes)
        return bool(np.isin(classes, self.gallery.labels).any())

    @cached_property
    def left_out(self) -> str:
        """A sentence on the gallery images without a class; empty if all have one."""
        return left_out_sentence(
            int((~self.gallery.labelled).sum()), len(self.gallery), self.distractors
        )

    def exact(self, k: int) -> lab.search.Index:
        """Return an exact index of the gallery that keeps at most k neighbours."""
        k = min(k, len(self.gallery))
        knobs = {"k": k, "similarity": self.similarity, "ties": "shuffled"}
        return lab.search.create("exact", device=self.device, **knobs).build(self.gallery)

    def known_neighbours(self, k: int) -> Ranking:
        """Rank the gallery images that have a class for every query that has one; at most k neighbours are kept.

        The positions are those of the whole gallery. With many images of unknown class, the first k of `rank` would
        hold a few of known class only.
        """
        # Search the labelled images alone, then translate the positions back to the whole gallery.
        rows = np.flatnonzero(self.query.labelled)
        places = np.flatnonzero(self.gallery.labelled)
        if len(places) == len(self.gallery) and len(rows) == len(self.query):
            return self.rank(self.exact(k), self.query)
        query = self.query.take(rows)
        gallery = query if self.same_source else self.gallery.take(places)
        labelled = replace(self, query=query, gallery=gallery)
        ranking = labelled.rank(labelled.exact(k), query)
        neighbours = ranking.neighbours
        itself = ranking.self_index
        return replace(
            ranking,
            neighbours=np.where(neighbours >= 0, places[neighbours], -1),
            self_index=np.where(itself >= 0, places[itself], -1),
            positive_items=places[ranking.positive_items],
            gallery_labels=np.asarray(self.gallery.labels),
        )

    @cached_property
    def _index(self) -> lab.search.Index:
        return self.exact(DEPTH)

    @cached_property
    def _deep_index(self) -> lab.search.Index:
        return self.exact(len(self.gallery))

    def prepare(self, deep: bool = False) -> bool:
        """Build the index that `ask` searches, which takes seconds for a million images; returns True."""
        return (self._deep_index if deep else self._index) is not None

    @cached_property
    def _rows(self) -> Places:
        return Places(self.query.items)

    @cached_property
    def _positions(self) -> Places:
        return self._rows if self.same_source else Places(self.gallery.items)

    def row(self, item: int | None) -> int | None:
        """Return the row of an image among the queries, or None if it is no query."""
        return self._rows.of(item)

    def rows(self, items: np.ndarray) -> np.ndarray:
        """Return the rows int64 [n] of images among the queries, -1 for images that are no queries."""
        return self._rows.of_all(items)

    def position(self, item: int | None) -> int | None:
        """Return the position of an image in the gallery, or None if it is absent."""
        return self._positions.of(item)

    def one(self, item: int) -> EmbeddingSet:
        """Return a single query.

        Raises:
            ValueError: the image is no query of this split.
        """
        row = self.row(item)
        if row is None:
            raise ValueError(
                f"Image {item} is no query of this split; choose one of its {len(self.query):,} queries."
            )
        return self.query.take(slice(row, row + 1))

    def ask(self, item: int, deep: bool = False, vectors: np.ndarray | None = None) -> Evidence:
        """Rank the whole gallery for one query image; keep the first `DEPTH` neighbours, or all if `deep`.

        Args:
            vectors: float32 [1 d], to search with instead of the image's own vector.

        Raises:
            ValueError: the image is no query of this split.
        """
        query = self.one(item)
        index = self._deep_index if deep else self._index
        if vectors is not None:
            query = replace(query, vectors=vectors)
        return Evidence(self.rank(index, query), query, self.gallery)

    def rank(self, index: lab.search.Index, query: EmbeddingSet) -> Ranking:
        """Rank the gallery with an index of it, for some queries of this split."""
        return index.rank(query, same_source=self.same_source, distractors=self.distractors)

    def vectors_of(self, items: Sequence[int]) -> np.ndarray:
        """Return the embeddings float32 [n d] of some images of the gallery, in their order; others are left out."""
        positions = self._positions.of_all(np.array(items, np.int64))
        return self.gallery.vectors[positions[positions >= 0]]

    def ask_vectors(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores [k] and gallery positions [k] of the neighbours of an embedding [1 d]."""
        return lab.search.best_of(self._index, vectors, min(DEPTH, len(self.gallery)))

    @property
    def columns(self) -> list[str]:
        """Columns that `measure` returns."""
        return list(self.stored) if self._kept else list(COLUMNS)

    @property
    def _kept(self) -> bool:
        """Whether to use the values of the run's evaluation, because there are many pairs."""
        return bool(self.stored) and len(self.query) * len(self.gallery) > AT_ONCE

    def measure(self) -> dict[str, np.ndarray]:
        """Return column to float64 [q], a value for every query: of the metrics in `PER_QUERY`, or the stored values of
        a large split. Takes seconds to a minute; memory as exact search, a few tiles."""
        if self._kept:
            return dict(self.stored)
        ranking = self.rank(self.exact(1), self.query)
        return per_query(Evidence(ranking, self.query, self.gallery))


def at_k(evidence: Evidence, k: int) -> dict[str, float]:
    """Return hit rate, recall and precision of a single query's first k; NaN if it has no positive."""
    values = {}
    for name in ("hit_rate_at_k", "recall_at_k", "precision_at_k"):
        measurement = lab.metrics.create(name, k=(k,))(evidence)
        for column, column_values in measurement.per_query.items():
            values[column] = float(column_values[0])
    return values


def per_query(evidence: Evidence) -> dict[str, np.ndarray]:
    """Return column to one value a query, by the metrics that judge a query: float64 [q], NaN without a positive."""
    values: dict[str, np.ndarray] = {}
    for name, knobs in PER_QUERY.items():
        values |= lab.metrics.create(name, **knobs)(evidence).per_query
    return values


def first_wrong(ranking: Ranking, query: int = 0) -> int | None:
    """Return the 1-based rank of a query's first neighbour that is known to be of another class; None without one."""
    wrong = np.flatnonzero(ranking.misses[query])
    return int(ranking.neighbour_ranks[query, wrong[0]]) if len(wrong) else None
