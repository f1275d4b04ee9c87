"""What both faiss indexes share: lists from the library, re-scored and ordered like every other ranking."""

from __future__ import annotations

import numpy as np
import torch

from lab.results import EmbeddingSet, Ranking, Relevance
from lab.search import _keys, _ranking
from lab.search._base import Index, Progress

GPU_DEPTH = 2048
"""faiss returns at most this many neighbours on a GPU."""

BATCH = 4096


class FaissIndex(Index):
    """A faiss index over the rows of the space; subclasses say which by `_make`.

    faiss returns lists, so a ranking is cut at `max(k, most positives of a query)`, which is all that R-precision and
    MAP@R need; positives beyond it are `UNRANKED`. Scores are computed again in float64 and ordered like those of the
    exact index.
    """

    def build(self, gallery: EmbeddingSet) -> FaissIndex:
        super().build(gallery)
        self.rows = np.ascontiguousarray(self.space.items.cpu().numpy(), dtype=np.float32)
        self.index = self._make(self.rows)
        self.gpu_index = self._on_gpu()
        return self

    def _make(self, rows: np.ndarray):
        raise NotImplementedError

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        """int64 [q], how many similarities faiss computes for each query row."""
        raise NotImplementedError

    def _on_gpu(self):
        import faiss

        if not getattr(faiss, "get_num_gpus", lambda: 0)():
            return None
        return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, self.index)

    def _lists(self, queries: torch.Tensor, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores float32 and positions int64 [q depth], -1 where faiss found fewer; in the project's order."""
        index = self.gpu_index if self.gpu_index is not None and depth <= GPU_DEPTH else self.index
        keys = []
        for part in queries.split(max(1, BATCH * 100 // depth)):
            rows = np.ascontiguousarray(part.cpu().numpy(), dtype=np.float32)
            positions = torch.from_numpy(index.search(rows, depth)[1]).to(part.device)
            scores = torch.einsum("qd,qkd->qk", part.double(), self.space.items[positions.clamp(min=0)].double())
            found = torch.where(positions >= 0, _keys.pack(scores.float(), positions), _keys.NOTHING)
            keys.append(found.sort(dim=1, descending=True).values)
        scores, positions = _keys.unpack(torch.cat(keys))
        return scores.cpu().numpy(), positions.cpu().numpy()

    def rank(
        self,
        query: EmbeddingSet,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: Progress | None = None,
    ) -> Ranking:
        self._check_query(query, same_source)
        asked = _ranking.task(query, self.gallery, same_source, relevant)
        size = len(self.gallery)
        depth = min(size, max(self.knobs.k, int(np.diff(asked.offsets).max(initial=0))) + 1)
        queries = self.space.queries(query.vectors)
        scores, positions = self._lists(queries, depth)
        compared = self._compared(queries.cpu().numpy().astype(np.float32))
        shift = self.space.shift(query.vectors)
        if progress:
            progress(len(query), len(query))
        return _ranking.from_lists(asked, scores, positions, compared, min(self.knobs.k, size), shift)

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        scores, positions = self._lists(self.space.queries(vectors), min(k, len(self.gallery)))
        scores = (scores + self.space.shift(vectors)[:, None]).astype(np.float32)
        pad = ((0, 0), (0, k - scores.shape[1]))
        return np.pad(scores, pad, constant_values=np.nan), np.pad(positions, pad, constant_values=-1)
