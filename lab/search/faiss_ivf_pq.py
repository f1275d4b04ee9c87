"""Approximate search by faiss in little memory: an inverted file of compressed vectors, ranked again exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from lab.core import arrays
from lab.core.catalog import name_of
from lab.core.explain import faiss_library
from lab.core.files import read_json, replacing, write_json
from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet
from lab.search._base import check_anchors
from lab.search._candidates import CandidateIndex, ListKnobs, inverted_lists
from lab.search._items import BLOCK, digest, digest_of

CODES = 256
"""Codewords of a part of a vector: a byte names one."""

ABOUT = "index.json"
LEARNT = "learnt.safetensors"
FILLED = "index.faiss"


class FaissIvfPq(ListKnobs, CandidateIndex):
    """faiss lists the gallery by centroids, keeps a few bytes of each vector, and ranks what it lists exactly.

    Vectors are rotated so that cutting them into parts loses little (OPQ), and each part is kept as the number of
    its nearest codeword. Centroids, rotation and codewords are learnt from a sample. With a `folder` the inverted
    lists lie on disk and are read by memory map, and the folder is found again as long as gallery and knobs are the
    same. The centroids may be class anchors of a model (CAM, section 3): then it is two-stage search with
    compressed lists.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("faiss_ivf_pq", k=2, lists=2, probes=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    anchors = cast("np.ndarray | None", None)

    takes_anchors = True
    probes: int = knob(
        "Inverted lists that are searched for each query.",
        default=16,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
    )
    bytes: int = knob(
        "Bytes that are kept of each vector, at most one for each of its numbers.",
        default=16,
        ge=1,
        le=64,
    )
    rerank: int = knob(
        "Candidates for each neighbour that is wanted; they are ranked by their full vectors, which may lie on disk.",
        default=10,
        ge=1,
        le=10_000,
        scale="log",
    )
    rotate: bool = knob(
        "Rotate vectors before they are cut into parts (optimised product quantisation).",
        default=True,
    )
    sample: int = knob(
        "Vectors from which centroids and codes are learnt.",
        default=262_144,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
    )
    folder: str | None = knob(
        "Folder for the inverted lists; without one they are in memory.", default=None, path=True
    )
    seed: int = knob("Random seed of the sample and of the k-means.", default=0, ge=0)

    def __post_init__(self) -> None:
        self.device = "cpu"
        super().__post_init__()

    def _build(self, gallery: EmbeddingSet, anchors: np.ndarray | None = None) -> None:
        self.anchors = (
            None if anchors is None else check_anchors(anchors, gallery).astype(np.float32)
        )
        super()._build(gallery)

    def _make(self, gallery: EmbeddingSet) -> None:
        folder = None if self.knobs.folder is None else Path(self.knobs.folder).expanduser()
        if folder is None:
            self.index = self._filled()
        else:
            self._on_disk(folder, gallery)
        self.index.nprobe = min(self.knobs.probes, self.index.nlist)

    def _filled(self) -> Any:
        """A faiss index of all rows."""
        self._rotation, index = self._trained()
        for start in range(0, len(self.rows), BLOCK):
            rows = self.rows.for_engine(slice(start, min(len(self.rows), start + BLOCK)))
            index.add(self._rotated(rows))
        return index

    def _trained(self) -> tuple[np.ndarray | None, Any]:
        """The rotation [d d] and an empty faiss index that knows its centroids and codewords."""
        faiss = faiss_library()

        if "trained" in self.learnt:
            return self.learnt.get("rotation"), faiss.deserialize_index(self.learnt["trained"])
        width = self.rows.vectors.shape[1]
        lists = self.list_count() if self.anchors is None else len(self.anchors)
        random = np.random.default_rng(self.knobs.seed)
        size = min(len(self.rows), max(self.knobs.sample, lists))
        chosen = np.sort(random.choice(len(self.rows), size, replace=False))
        sample = self.rows.for_engine(chosen)
        if size < CODES:  # faiss wants one row a codeword; copies change nothing
            sample = np.resize(sample, (CODES, width))
        # Into so many equal parts a vector is cut, each of which becomes a byte.
        parts = max(
            part for part in range(1, min(self.knobs.bytes, width) + 1) if width % part == 0
        )
        rotation = (
            self._learnt_rotation(sample, parts) if self.knobs.rotate and size >= CODES else None
        )
        sample = sample if rotation is None else sample @ rotation.T
        coarse = faiss.IndexFlatL2(width)
        index = faiss.IndexIVFPQ(coarse, width, lists, parts, 8)
        for clusters in (index.cp, index.pq.cp):
            clusters.seed = self.knobs.seed
            clusters.min_points_per_centroid = 1
        if self.anchors is not None:
            anchors = self._engine_rows(self.anchors)
            coarse.add(
                np.ascontiguousarray(
                    anchors if rotation is None else anchors @ rotation.T, np.float32
                )
            )
        index.train(sample)
        self.learnt = {"trained": faiss.serialize_index(index), **self.rows.origin()}
        if rotation is not None:
            self.learnt["rotation"] = rotation
        return rotation, index

    def _learnt_rotation(self, sample: np.ndarray, parts: int) -> np.ndarray:
        """float32 [d d], an orthogonal matrix."""
        faiss = faiss_library()

        rotation = faiss.OPQMatrix(sample.shape[1], parts)
        quantiser = faiss.ProductQuantizer(sample.shape[1], parts, 8)
        quantiser.cp.min_points_per_centroid, quantiser.cp.seed = 1, self.knobs.seed
        rotation.pq = quantiser
        rotation.niter = 10
        rotation.train(np.ascontiguousarray(sample[:: max(1, len(sample) // (64 * CODES))]))
        return faiss.vector_to_array(rotation.A).reshape(sample.shape[1], -1)

    def _on_disk(self, folder: Path, gallery: EmbeddingSet) -> None:
        faiss = faiss_library()

        about = {"index": name_of(type(self)), "rows": len(gallery), "gallery": digest(gallery)}
        about |= {"knobs": self.built_with()} | (
            {} if self.anchors is None else {"anchors": digest_of(self.anchors)}
        )
        there = read_json(folder / ABOUT) if (folder / ABOUT).exists() else None
        if there is None and folder.is_dir() and any(folder.iterdir()):
            raise ValueError(f"{folder} holds other files; name a new folder for the index.")
        if there is not None and there != about:
            raise ValueError(
                f"{folder} holds an index of another gallery or with other knobs; name another folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / ABOUT, about)
        if not ((folder / LEARNT).is_file() and (folder / FILLED).is_file()):
            index = self._filled()
            arrays.write(folder / LEARNT, self.learnt)
            with replacing(folder / FILLED) as temporary:
                faiss.write_index(index, str(temporary))
        self.learnt = arrays.read(folder / LEARNT)
        self.rows.measure_as(self.learnt)
        self._rotation = self.learnt.get("rotation")
        self.index = faiss.read_index(str(folder / FILLED), faiss.IO_FLAG_MMAP)

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        return self.index.search(self._rotated(rows), depth)[1]

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return inverted_lists(self.index, self._rotated(rows))

    def _rotated(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._rotation is None else rows @ self._rotation.T
