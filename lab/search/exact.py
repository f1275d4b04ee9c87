"""Exact search: every query against every item."""

from __future__ import annotations

import numpy as np

from lab.kernels import sort_keys
from lab.results import EmbeddingSet, Ranking, Relevance
from lab.search import _ranking
from lab.search._base import Index, IndexKnobs, Progress


class Exact(Index):
    """Compare every query with the whole gallery; the rank of every positive is known.

    Time O(q g d), memory O(tile + q k + positives): never a [q g] matrix. Runs on the GPU when there is one.
    """

    class Knobs(IndexKnobs):
        """Only what every index has."""

    def rank(
        self,
        query: EmbeddingSet,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: Progress | None = None,
    ) -> Ranking:
        self._check_query(query, same_source)
        asked = _ranking.task(query, self.gallery, same_source, relevant)
        queries = self.space.queries(query.vectors)
        k = min(self.knobs.k, len(self.gallery))
        return _ranking.rank_all(asked, queries, self.space.items, self.space.shift(query.vectors), k, progress)

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        return self._shown(sort_keys.nearest(self.space.queries(vectors), self.space.items, k), vectors)
