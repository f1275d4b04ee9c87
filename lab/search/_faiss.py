"""What both faiss indexes share: lists from the library, re-scored and ordered like every other ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.core.results import EmbeddingSet
from lab.kernels import sort_keys
from lab.search._listed import ListIndex

if TYPE_CHECKING:
    import faiss


GPU_DEPTH = 2048
"""faiss returns at most this many neighbours on a GPU."""

LISTED = 2**24
"""Numbers of listed rows re-scored at once: 128 MB in float64."""


class FaissIndex(ListIndex):
    """A faiss index over the gallery's rows; subclasses say which by `_make`.

    Scores are computed again in float64 and ordered like those of the exact index.
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

    def _work(self, vectors: np.ndarray) -> np.ndarray:
        return self._compared(self._rows(vectors, self.space.queries(vectors)))

    def _lists(self, vectors: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        queries = self.space.queries(vectors)
        rows = self._rows(vectors, queries)
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
