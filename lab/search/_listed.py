"""What engines share that list candidates by compressed vectors: the vectors themselves rank these again."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lab.core.knobs import knob
from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index, IndexKnobs, ReportProgress
from lab.search._items import checked

LISTED = 2**23
"""Numbers of listed rows re-scored at once: 64 MB in float64."""


class ListedKnobs(IndexKnobs):
    """The knobs of every index, and how many candidates are ranked exactly."""

    rerank: int = knob(
        10,
        "Candidates for each neighbour that is wanted; they are ranked by their full vectors, which may lie on disk.",
        ge=1,
        scale="log",
    )


class ListedIndex(Index):
    """An engine that lists candidates; subclasses say which by `_make` and `_candidates`.

    Scores are computed again in float64 and ordered like those of the exact index. A ranking is cut at `max(k, most
    positives of a query)`; positives beyond it are `UNRANKED`. Vectors are read a few at a time, so a gallery in shards
    is never held. It searches on the processor.
    """

    Knobs = ListedKnobs

    def __init__(self, device: str | torch.device = "auto", **knobs: Any):
        super().__init__("cpu", **knobs)

    def build(self, gallery: EmbeddingSet) -> ListedIndex:
        self.learnt = {}
        self._again(gallery)
        return self

    def _again(self, gallery: EmbeddingSet) -> None:
        self.rows = checked(gallery, self.knobs.similarity)
        self.space = self.rows.space()
        self._make(gallery)
        self.gallery = gallery

    def _make(self, gallery: EmbeddingSet) -> None:
        """Index `self.rows`, with what was `learnt` before if there is any."""
        raise NotImplementedError

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        """int64 [q depth], gallery positions for queries float32 [q d] in any order, -1 where there are fewer."""
        raise NotImplementedError

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        """int64 [q], how many similarities are computed for each query, those of the re-ranking left out."""
        raise NotImplementedError

    def _seen(self, vectors: np.ndarray) -> np.ndarray:
        """Queries as the engine sees them: unit rows for the cosine."""
        rows = self.space.query_rows(vectors) if self.knobs.similarity == "cosine" else vectors
        return np.ascontiguousarray(rows, np.float32)

    def _lists(self, vectors: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores float32 and positions int64 [q depth] in the project's order, -1 where fewer were found."""
        seen, queries = self._seen(vectors), self.space.queries(vectors)
        candidates = min(len(self.rows), depth * self.knobs.rerank)
        keys, step = [], max(1, LISTED // (candidates * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            keys.append(self._scored(queries[part], self._candidates(seen[part], candidates), depth))
        scores, positions = sort_keys.unpack(torch.cat(keys))
        return scores.numpy(), positions.numpy()

    def _scored(self, queries: torch.Tensor, found: np.ndarray, depth: int) -> torch.Tensor:
        """Keys [q depth] of the best of some candidates [q c]."""
        positions = torch.from_numpy(found)
        items = self.rows.prepared(self.rows.rows(found.clip(min=0).ravel())).reshape(*found.shape, -1)
        scores = torch.einsum("qd,qcd->qc", queries.double(), items.double()).float()
        keys = torch.where(positions >= 0, sort_keys.pack(scores, positions), sort_keys.NOTHING)
        return sort_keys.best(keys, depth)

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
        compared = self._compared(self._seen(query.vectors))
        if progress:
            progress(len(query), len(query))
        return _ranking.from_lists(
            task, scores, positions, compared, min(self.knobs.k, size), self.space.shift(query.vectors)
        )

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        scores, positions = self._lists(vectors, min(k, len(self._built())))
        scores = (scores + self.space.shift(vectors)[:, None]).astype(np.float32)
        pad = ((0, 0), (0, k - scores.shape[1]))
        return np.pad(scores, pad, constant_values=np.nan), np.pad(positions, pad, constant_values=-1)
