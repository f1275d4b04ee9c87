"""Compare two-stage search with brute force: the comparisons that a query saves, and the matches that it loses."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import lab.search
from lab.core.results import EmbeddingSet, Ranking
from lab.evaluation.collection import AT_ONCE, DEPTH, Collection

SAMPLE = 500
"""Queries over which curves are drawn; of more, a sample is drawn by a fixed seed."""
REPEATS = 15
FLATTERED = "They are computed from the labels that also judge the search, so its scores look better than they are."
"""Warning wherever class means replace anchors."""


@dataclass(frozen=True)
class Anchors:
    """Class anchors float32 [c d], their labels int64 [c], and whether the run learnt them."""

    vectors: np.ndarray
    labels: np.ndarray
    learnt: bool

    @classmethod
    def means(cls, gallery: EmbeddingSet) -> Anchors:
        """Return the mean of each class of a gallery, for models without learnt anchors."""
        gallery = gallery.take(np.flatnonzero(gallery.labelled))
        labels, at = np.unique(gallery.labels, return_inverse=True)
        sums = np.zeros((len(labels), gallery.vectors.shape[1]))
        np.add.at(sums, at, gallery.vectors)
        return cls((sums / np.bincount(at)[:, None]).astype(np.float32), labels, learnt=False)


@dataclass(frozen=True)
class QueryCost:
    """One query, both ways.

    brute, fast: rankings of the single query.
    brute_ms, fast_ms: median milliseconds to find the first k.
    lost: exact ranks (0-based) of the first k that two-stage search never compared.
    lost_matches: gallery positions of true matches that it never compared, nearest first.
    """

    brute: Ranking
    fast: Ranking
    brute_ms: float
    fast_ms: float
    lost: np.ndarray
    lost_matches: np.ndarray


@dataclass(frozen=True)
class ProbeCurves:
    """Means over all queries, by anchors probed 1..c: float64 [c].

    neighbours: share of the exact first k within reach; matches: share of true matches within reach; comparisons: as a
    share of brute force; queries: how many were measured.
    """

    neighbours: np.ndarray
    matches: np.ndarray
    comparisons: np.ndarray
    queries: int


@dataclass(frozen=True)
class InvertedGallery:
    """A split in inverted lists, one for each anchor."""

    collection: Collection
    anchors: Anchors

    @property
    def count(self) -> int:
        return len(self.anchors.labels)

    @cached_property
    def _index(self) -> Any:
        whole = self.collection
        k = min(DEPTH, len(whole.gallery))
        index: Any = lab.search.create(
            "two_stage", device=whole.device, k=k, similarity=whole.similarity, ties="shuffled"
        )
        return index.build(whole.gallery, anchors=self.anchors.vectors)

    @cached_property
    def _exact(self) -> lab.search.Index:
        return self.collection.exact(DEPTH)

    def prepare(self) -> InvertedGallery:
        """Fill the lists and return itself; later calls are fast, except those that `survey` prepares."""
        _ = self._index
        _ = self._exact
        return self

    def survey(self) -> InvertedGallery:
        """Rank the `sample` and return itself; curves and losers are fast then."""
        _ = self._sampled
        return self

    def rank(self, query: EmbeddingSet, probes: int) -> Ranking:
        """Return the two-stage ranking of some queries.

        Raises:
            ValueError: `probes` is not between 1 and the number of anchors.
        """
        return self.collection.rank(self._index.with_probes(probes), query)

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64 [c]: images in the list of each anchor."""
        return np.diff(self._index.bounds)

    def order(self, item: int) -> np.ndarray:
        """Return the anchors int64 [c] in the order in which a query probes them."""
        return self._index.nearest_anchors(self.collection.one(item).vectors, self.count)[0]

    def cost(self, item: int, probes: int, k: int) -> QueryCost:
        """Search for one query both ways.

        Raises:
            ValueError: the image is no query, or `probes` is not between 1 and the number of anchors.
        """
        whole = self.collection
        query = whole.one(item)
        index = self._index.with_probes(probes)
        brute = whole.rank(self._exact, query)
        fast = self.rank(query, probes)
        opened = self.order(item)[:probes]
        first = brute.neighbours[0, :k]
        reached = np.isin(self._index.list_of[first], opened)
        positions, _ = brute.positives(0)
        return QueryCost(
            brute,
            fast,
            _median_ms(lambda: self._exact.neighbours(query.vectors, k)),
            _median_ms(lambda: index.neighbours(query.vectors, k)),
            np.flatnonzero((first >= 0) & ~reached),
            positions[~np.isin(self._index.list_of[positions], opened)],
        )

    @cached_property
    def sample(self) -> np.ndarray:
        """int64 [s]: rows of the queries that curves are drawn over."""
        whole = self.collection
        most = max(1, min(SAMPLE, AT_ONCE // max(len(whole.gallery), self.count)))
        if len(whole.query) <= most:
            return np.arange(len(whole.query))
        return np.sort(np.random.default_rng(0).choice(len(whole.query), most, replace=False))

    @cached_property
    def _sampled(self) -> tuple[Ranking, np.ndarray, np.ndarray]:
        """The exact ranking of the sample, its anchors in order [s c], and the position of each anchor in it [s c]."""
        whole = self.collection
        rows = self.sample
        query = whole.query.take(rows)
        ranking = whole.rank(self._exact, query)
        order = self._index.nearest_anchors(query.vectors, self.count)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.broadcast_to(np.arange(self.count), order.shape), axis=1)
        return ranking, order, place

    def _needed(self, k: int) -> np.ndarray:
        """Return how many anchors must be probed before each of the exact first k is reached, int64 [s k]."""
        ranking, _, place = self._sampled
        first = ranking.neighbours[:, :k]
        needed = np.take_along_axis(place, self._index.list_of[first], axis=1) + 1
        return np.where(first >= 0, needed, 0)

    def curves(self, k: int) -> ProbeCurves:
        """Return recall and cost by anchors probed, mean over the sampled queries."""
        ranking, order, place = self._sampled
        needed = self._needed(k)
        owner = np.repeat(np.arange(len(ranking)), ranking.num_positives)
        reached_at = place[owner, self._index.list_of[ranking.positive_items]] + 1
        weight = 1 / np.maximum(1, ranking.num_positives)[owner]
        counted = max(1, int((ranking.num_positives > 0).sum()))
        matches = (
            np.bincount(reached_at, weights=weight, minlength=self.count + 1)[1:].cumsum() / counted
        )
        neighbours = np.bincount(needed[needed > 0], minlength=self.count + 1)[1:].cumsum() / max(
            1, (needed > 0).sum()
        )
        compared = self.count + self.sizes[order].mean(0).cumsum()
        return ProbeCurves(
            neighbours, matches, compared / len(self.collection.gallery), len(ranking)
        )

    def enough(self, k: int, share: float) -> int:
        """Return the fewest anchors to probe so that this share of the exact first k is within reach, mean over the
        sampled queries."""
        return min(self.count, 1 + int(np.searchsorted(self.curves(k).neighbours, share - 1e-9)))

    def losers(self, probes: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sampled queries that lose true matches among their exact first k: images int64 [l] and how many [l],
        most first."""
        lost = ((self._needed(k) > probes) & self._sampled[0].hits[:, :k]).sum(1)
        order = np.argsort(-lost, kind="stable")
        order = order[lost[order] > 0]
        return self.collection.query.items[self.sample[order]], lost[order]


def _median_ms(call: Callable[[], object]) -> float:
    call()
    return 1e3 * float(np.median(timeit.repeat(call, number=1, repeat=REPEATS)))
