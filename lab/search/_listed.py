"""What indexes share that give a list of neighbours for each query instead of the rank of every positive.

Engines list candidates by compressed vectors; the vectors themselves rank these again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

import numpy as np
import torch

from lab.core.catalog import name_of
from lab.core.knobs import knob
from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index, IndexKnobs, ReportProgress
from lab.search._items import checked, digest_of

LISTED = 2**23
"""Numbers of listed rows re-scored at once: 64 MB in float64."""


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
        itself = bool((task.self_index >= 0).any())
        depth = min(size, max(self.knobs.k, int(np.diff(task.offsets).max(initial=0))) + itself)
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


class ListedKnobs(IndexKnobs):
    """The knobs of every index, and how many candidates are ranked exactly."""

    rerank: int = knob(
        10,
        "Candidates for each neighbour that is wanted; they are ranked by their full vectors, which may lie on disk.",
        ge=1,
        scale="log",
    )


class ListedIndex(ListIndex):
    """An engine that lists candidates; subclasses say which by `_make` and `_candidates`.

    Scores are computed again in float64 and ordered like those of the exact index. Vectors are read a few at a time, so
    a gallery in shards is never held. It searches on the processor.
    """

    Knobs = ListedKnobs
    asked_with: ClassVar[tuple[str, ...]] = ("folder", "k", "probes", "rerank")
    """Knobs that nothing which is built depends on."""

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
        self._hold(gallery)

    def built_with(self) -> dict[str, Any]:
        """The knobs that decide what is built."""
        return {name: value for name, value in dict(self.knobs).items() if name not in self.asked_with}

    def folder_name(self, anchors: np.ndarray | None = None) -> str:
        """What to call the folder of what it builds: another one for other knobs or anchors [c d]."""
        identity = json.dumps([self.built_with(), digest_of(anchors)], sort_keys=True)
        return f"{name_of(type(self))}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"

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

    def _work(self, vectors: np.ndarray) -> np.ndarray:
        return self._compared(self._seen(vectors))

    def _lists(self, vectors: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        seen, queries = self._seen(vectors), self.space.queries(vectors)
        candidates = min(len(self.rows), depth * self.knobs.rerank)
        keys, step = [], max(1, LISTED // (candidates * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            keys.append(self._scored(queries[part], self._candidates(seen[part], candidates), depth))
        scores, positions = sort_keys.unpack(torch.cat(keys))
        return scores.numpy(), positions.numpy()

    def _scored(self, queries: torch.Tensor, candidates: np.ndarray, depth: int) -> torch.Tensor:
        """Keys [q depth] of the best of some candidates [q c]."""
        positions = torch.from_numpy(candidates)
        items = self.rows.prepared(self.rows.rows(candidates.clip(min=0).ravel())).reshape(*candidates.shape, -1)
        scores = torch.einsum("qd,qcd->qc", queries.double(), items.double()).float()
        keys = torch.where(positions >= 0, sort_keys.pack(scores, positions), sort_keys.NOTHING)
        return sort_keys.best(keys, depth)
