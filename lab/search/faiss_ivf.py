"""Approximate search by faiss: an inverted file with k-means centroids."""

from __future__ import annotations

import numpy as np

from lab.core.explain import faiss_library
from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet
from lab.search._candidates import FaissIndex, ListKnobs, inverted_lists


class FaissIvf(ListKnobs, FaissIndex):
    """faiss lists the gallery by k-means centroids and compares a query with the lists of the nearest ones only.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("faiss_ivf", k=2, lists=2, probes=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    probes: int = knob(
        "Inverted lists that are searched for each query.",
        default=8,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
    )
    seed: int = knob("Random seed of the k-means that places the centroids.", default=0, ge=0)

    def _make(self, gallery: EmbeddingSet) -> None:
        faiss = faiss_library()

        rows = self._all_rows()
        centroids = self.learnt.get("centroids")
        lists = self.list_count() if centroids is None else len(centroids)
        self.coarse = self._flat()  # faiss does not keep it alive
        self.index = faiss.IndexIVFFlat(self.coarse, rows.shape[1], lists, self.coarse.metric_type)
        self.index.cp.spherical = self.knobs.similarity == "cosine"
        self.index.cp.seed = self.knobs.seed
        self.index.cp.min_points_per_centroid = 1  # a small gallery is no reason to print a warning
        if centroids is None:
            self.index.train(rows)
            self.learnt = {"centroids": self.coarse.reconstruct_n(0, lists), **self.rows.origin()}
        else:
            self.coarse.add(np.ascontiguousarray(centroids, np.float32))
            self.index.is_trained = True
        self.index.add(rows)
        self.index.nprobe = min(self.knobs.probes, lists)

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return inverted_lists(self.index, rows)
