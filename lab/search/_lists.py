"""What indexes share that give a list of neighbours for each query instead of the rank of every positive."""

from __future__ import annotations

import numpy as np

from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.search import _ranking
from lab.search._base import Index, ReportProgress


class ListIndex(Index):
    """An index that finds lists. A ranking is cut at `max(k, most positives of a query)`, which is all that R-precision
    and MAP@R need; positives beyond it are `UNRANKED`."""

    def _lists(self, vectors: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores float32 and positions int64 [q depth] for queries [q d], in the project's order; -1 where fewer were
        found."""
        raise NotImplementedError

    def _work(self, vectors: np.ndarray) -> np.ndarray:
        """int64 [q], how many similarities are computed for each query [q d], those of a re-ranking left out."""
        raise NotImplementedError

    def rank(
        self,
        query: EmbeddingSet,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: ReportProgress | None = None,
    ) -> Ranking:
        self._check_query(query, same_source)
        task = _ranking.task(query, self._built(), same_source, relevant)
        size = len(self._built())
        depth = min(size, max(self.knobs.k, int(np.diff(task.offsets).max(initial=0))) + 1)
        scores, positions = self._lists(query.vectors, depth)
        work, shift = self._work(query.vectors), self.space.shift(query.vectors)
        if progress:
            progress(len(query), len(query))
        return _ranking.from_lists(task, scores, positions, work, min(self.knobs.k, size), shift)

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        scores, positions = self._lists(vectors, min(k, len(self._built())))
        scores = (scores + self.space.shift(vectors)[:, None]).astype(np.float32)
        pad = ((0, 0), (0, k - scores.shape[1]))
        return np.pad(scores, pad, constant_values=np.nan), np.pad(positions, pad, constant_values=-1)
