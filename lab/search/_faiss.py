"""What both faiss indexes share: lists from the library, re-scored and ordered like every other ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index, ReportProgress

if TYPE_CHECKING:
    import faiss


GPU_DEPTH = 2048
"""faiss returns at most this many neighbours on a GPU."""

LISTED = 2**24
"""Numbers of listed rows re-scored at once: 128 MB in float64."""


class FaissIndex(Index):
    """A faiss index over the gallery's rows; subclasses say which by `_make`.

    faiss returns lists, so a ranking is cut at `max(k, most positives of a query)`, which is all that R-precision and
    MAP@R need; positives beyond it are `UNRANKED`. Scores are computed again in float64 and ordered like those of the
    exact index.
    """

    def build(self, gallery: EmbeddingSet) -> FaissIndex:
        self.learnt = {}
        self._again(gallery)
        return self

    def _again(self, gallery: EmbeddingSet) -> None:
        super().build(gallery)
        self.index: Any = self._make(self._rows(gallery.vectors, self.space.items))
        self.gpu_index = self._on_gpu()

    def _make(self, rows: np.ndarray) -> faiss.Index:
        """A trained faiss index that holds rows, float32 [g d]."""
        raise NotImplementedError

    def _flat(self, dim: int) -> faiss.Index:
        """faiss's flat index for the chosen similarity."""
        import faiss

        return faiss.IndexFlatIP(dim) if self.knobs.similarity == "cosine" else faiss.IndexFlatL2(dim)

    def _rows(self, vectors: np.ndarray, prepared: torch.Tensor) -> np.ndarray:
        """What faiss sees: unit rows for the cosine, the vectors as they are for its own Euclidean distance."""
        seen = prepared.cpu().numpy() if self.knobs.similarity == "cosine" else vectors
        return np.ascontiguousarray(seen, dtype=np.float32)

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        """int64 [q], how many similarities faiss computes for each query row."""
        raise NotImplementedError

    def _on_gpu(self) -> faiss.Index | None:
        import faiss

        if self.device.type != "cuda" or not getattr(faiss, "get_num_gpus", lambda: 0)():
            return None
        return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), self.device.index or 0, self.index)

    def _lists(self, rows: np.ndarray, queries: torch.Tensor, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores float32 and positions int64 [q depth], -1 where faiss found fewer; in the project's order.

        `rows` are the queries as faiss sees them, `queries` as the space does.
        """
        index = self.gpu_index if self.gpu_index is not None and depth <= GPU_DEPTH else self.index
        keys, step = [], max(1, LISTED // (depth * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = queries[start : start + step]
            positions = torch.from_numpy(index.search(rows[start : start + step], depth)[1]).to(part.device)
            scores = torch.einsum("qd,qkd->qk", part.double(), self.space.items[positions.clamp(min=0)].double())
            packed = torch.where(positions >= 0, sort_keys.pack(scores.float(), positions), sort_keys.NOTHING)
            keys.append(packed.sort(dim=1, descending=True).values)
        scores, positions = sort_keys.unpack(torch.cat(keys))
        return scores.cpu().numpy(), positions.cpu().numpy()

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
        queries = self.space.queries(query.vectors)
        rows = self._rows(query.vectors, queries)
        scores, positions = self._lists(rows, queries, depth)
        compared = self._compared(rows)
        shift = self.space.shift(query.vectors)
        if progress:
            progress(len(query), len(query))
        return _ranking.from_lists(task, scores, positions, compared, min(self.knobs.k, size), shift)

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        queries = self.space.queries(vectors)
        scores, positions = self._lists(self._rows(vectors, queries), queries, min(k, len(self._built())))
        scores = (scores + self.space.shift(vectors)[:, None]).astype(np.float32)
        pad = ((0, 0), (0, k - scores.shape[1]))
        return np.pad(scores, pad, constant_values=np.nan), np.pad(positions, pad, constant_values=-1)
