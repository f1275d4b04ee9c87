"""Approximate search by faiss in little memory: an inverted file of compressed vectors, ranked again exactly."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.core import arrays
from lab.core.files import read_json, replacing, write_json
from lab.core.knobs import knob
from lab.core.results import EmbeddingSet
from lab.kernels.sort_keys import unit_rows
from lab.search._base import check_anchors
from lab.search._candidates import CandidateIndex, CodeKnobs, inverted_lists
from lab.search._items import BLOCK, digest_of

PIECE = 1_048_576
"""Rows whose codes are written to disk in one file, before all are merged."""

CODES = 256
"""Codewords of a part of a vector: a byte names one."""

ABOUT, TRAINED, ROTATION = "index.json", "trained.faiss", "rotation.safetensors"
LISTS, MERGED = "lists.bin", "index.faiss"


class FaissIvfPq(CandidateIndex):
    """faiss lists the gallery by centroids, keeps a few bytes of each vector, and ranks what it lists exactly.

    Vectors are rotated so that cutting them into parts loses little (OPQ), and each part is kept as the number of its
    nearest codeword. Centroids, rotation and codewords are learnt from a sample. With a `folder` the inverted lists
    lie on disk and are read by memory map; a build that was broken off goes on where it stopped, and the folder is
    found again as long as gallery and knobs are the same. The centroids may be class anchors of a model (CAM, section
    3): then it is two-stage search with compressed lists.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("faiss_ivf_pq", k=2, lists=2, probes=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    thorough = {"lists": 4, "probes": 4}
    anchors: np.ndarray | None = None

    class Knobs(CodeKnobs):
        """The knobs of every index, and those of the inverted file and its codes."""

        rotate: bool = knob(True, "Rotate vectors before they are cut into parts (optimised product quantisation).")
        sample: int = knob(262_144, "Vectors from which centroids and codes are learnt.", ge=1, scale="log")
        folder: str | None = knob(None, "Folder for the inverted lists; without one they are in memory.", path=True)
        seed: int = knob(0, "Random seed of the sample and of the k-means.", ge=0)

    def __init__(self, device: str | torch.device = "auto", **knobs: Any):
        super().__init__("cpu", **knobs)

    def build(self, gallery: EmbeddingSet, anchors: np.ndarray | None = None) -> FaissIvfPq:
        """Index a gallery of g items.

        Args:
            gallery: in memory, memory-mapped, or in shards (`lab.galleries`).
            anchors: float [c d], class anchors to be the centroids; by default they are learnt by k-means.

        Raises:
            ValueError: bad gallery or anchors, or more lists than items.
        """
        self.anchors = None if anchors is None else check_anchors(anchors, gallery).astype(np.float32)
        super().build(gallery)
        return self

    def _make(self, gallery: EmbeddingSet) -> None:
        folder = None if self.knobs.folder is None else Path(self.knobs.folder).expanduser()
        if folder is None:
            self._rotation, self.index = self._trained()
            for block in self._encodable(0, len(self.rows)):
                self.index.add(block)
        else:
            self._on_disk(folder, gallery)
        self.index.nprobe = min(self.knobs.probes, self.index.nlist)

    def _trained(self) -> tuple[np.ndarray | None, Any]:
        """The rotation [d d] and an empty faiss index that knows its centroids and codewords."""
        import faiss

        if "trained" in self.learnt:
            return self.learnt.get("rotation"), faiss.deserialize_index(self.learnt["trained"])
        width = self.rows.vectors.shape[1]
        lists = self.list_count() if self.anchors is None else len(self.anchors)
        random = np.random.default_rng(self.knobs.seed)
        size = min(len(self.rows), max(self.knobs.sample, lists))
        chosen = np.sort(random.choice(len(self.rows), size, replace=False))
        sample = np.ascontiguousarray(self.rows.rows(chosen), np.float32)
        if size < CODES:  # faiss wants one row a codeword; copies change nothing
            sample = np.resize(sample, (CODES, width))
        parts = self.code_parts()
        rotation = self._learnt_rotation(sample, parts) if self.knobs.rotate and size >= CODES else None
        sample = sample if rotation is None else sample @ rotation.T
        coarse = faiss.IndexFlatL2(width)
        index = faiss.IndexIVFPQ(coarse, width, lists, parts, 8)
        for clusters in (index.cp, index.pq.cp):
            clusters.seed, clusters.min_points_per_centroid = self.knobs.seed, 1
        if self.anchors is not None:
            anchors = unit_rows(self.anchors, "anchor") if self.knobs.similarity == "cosine" else self.anchors
            coarse.add(np.ascontiguousarray(anchors if rotation is None else anchors @ rotation.T, np.float32))
        index.train(sample)
        self.learnt = {"trained": faiss.serialize_index(index)} | ({} if rotation is None else {"rotation": rotation})
        return rotation, index

    def _learnt_rotation(self, sample: np.ndarray, parts: int) -> np.ndarray:
        """float32 [d d], an orthogonal matrix."""
        import faiss

        rotation = faiss.OPQMatrix(sample.shape[1], parts)
        quantiser = faiss.ProductQuantizer(sample.shape[1], parts, 8)
        quantiser.cp.min_points_per_centroid, quantiser.cp.seed = 1, self.knobs.seed
        rotation.pq, rotation.niter = quantiser, 10
        rotation.train(np.ascontiguousarray(sample[:: max(1, len(sample) // (64 * CODES))]))
        return faiss.vector_to_array(rotation.A).reshape(sample.shape[1], -1)

    def _encodable(self, first: int, last: int) -> Iterator[np.ndarray]:
        for start in range(first, last, BLOCK):
            rows = self.rows.rows(slice(start, min(last, start + BLOCK)))
            yield self._rotated(np.ascontiguousarray(rows, np.float32))

    def _on_disk(self, folder: Path, gallery: EmbeddingSet) -> None:
        import faiss

        about = self.described(gallery) | ({} if self.anchors is None else {"anchors": digest_of(self.anchors)})
        there = read_json(folder / ABOUT) if (folder / ABOUT).exists() else None
        if there is None and folder.is_dir() and any(folder.iterdir()):
            raise ValueError(f"{folder} holds other files; name a new folder for the index.")
        if there is not None and there != about:
            raise ValueError(f"{folder} holds an index of another gallery or with other knobs; name another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / ABOUT, about)
        if not (folder / TRAINED).is_file():
            rotation, index = self._trained()
            if rotation is not None:
                arrays.write(folder / ROTATION, {"rotation": rotation})
            _save(index, folder / TRAINED)
        self._rotation = arrays.read(folder / ROTATION)["rotation"] if (folder / ROTATION).is_file() else None
        if not (folder / MERGED).is_file():
            self._encode(folder)
        with _hushed():
            self.index = faiss.read_index(str(folder / MERGED), faiss.IO_FLAG_ONDISK_SAME_DIR)
        self.learnt = {"trained": np.fromfile(folder / TRAINED, np.uint8)}
        if self._rotation is not None:
            self.learnt["rotation"] = self._rotation

    def _encode(self, folder: Path) -> None:
        """Encode the gallery piece by piece, each into a file of its own, and merge them into lists on disk."""
        import faiss
        from faiss.contrib.ondisk import merge_ondisk

        pieces = []
        for number, first in enumerate(range(0, len(self.rows), PIECE)):
            pieces.append(folder / f"piece-{number:05d}.faiss")
            if pieces[-1].is_file():
                continue
            index = faiss.read_index(str(folder / TRAINED))
            last, start = min(len(self.rows), first + PIECE), first
            for block in self._encodable(first, last):
                index.add_with_ids(block, np.arange(start, start + len(block)))
                start += len(block)
            _save(index, pieces[-1])
        (folder / LISTS).unlink(missing_ok=True)
        index = faiss.read_index(str(folder / TRAINED))
        with _hushed():
            merge_ondisk(index, [str(path) for path in pieces], str(folder / LISTS))
        _save(index, folder / MERGED)
        for path in pieces:
            path.unlink()

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        return self.index.search(self._rotated(rows), depth)[1]

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        return inverted_lists(self.index, self._rotated(rows))

    def _rotated(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._rotation is None else rows @ self._rotation.T


def _save(index: Any, path: Path) -> None:
    import faiss

    with replacing(path) as temporary:
        faiss.write_index(index, str(temporary))


@contextmanager
def _hushed() -> Iterator[None]:
    """faiss tells of its files on standard output, where `--json` may go."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
