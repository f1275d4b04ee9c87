"""A gallery's rows, prepared for search as they are read: in memory, memory-mapped or in shards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lab.core.results import EmbeddingSet
from lab.kernels.sort_keys import UNIT, Space, wide
from lab.search._base import check_set
from lab.search.galleries.shards import Gallery

BLOCK = 65_536
"""Rows that are looked at at once: 32 MB at 128 numbers a row."""


class Items:
    """Rows of a gallery as `Space` prepares them, a few at a time; nothing is held.

    `similarity` decides as for every index; rows that are not of unit length are brought to it on the way.
    """

    def __init__(self, gallery: EmbeddingSet, similarity: str):
        self.vectors: Any = gallery.vectors
        self.similarity = similarity
        # Whoever wrote shards has looked at every row; all others are looked at here, without being copied.
        self.scaled = similarity == "cosine" and not (
            gallery.unit if isinstance(gallery, Gallery) else self._unit()
        )
        # What prepares queries for these rows; it holds none of them.
        empty = wide(np.zeros((0, self.vectors.shape[1]), self.vectors.dtype))
        self.space = Space.around(self.vectors, similarity, torch.device("cpu")).holding(empty)

    def _unit(self) -> bool:
        unit = True
        for start in range(0, len(self.vectors), BLOCK):
            block = self.vectors[start : start + BLOCK]
            lengths = np.sqrt(np.einsum("nd,nd->n", block, block, dtype=np.float64))
            if not lengths.all():
                raise ValueError(
                    f"Row {start + int(np.flatnonzero(lengths == 0)[0])} of the gallery vectors is zero, so its cosine "
                    "is undefined; leave it out or search with similarity='euclidean'."
                )
            unit = unit and bool(np.abs(lengths - 1).max() < UNIT)
        return unit

    def __len__(self) -> int:
        return len(self.vectors)

    def rows(self, places: Any) -> np.ndarray:
        """float32 or float64 [n d] of a slice or of positions [n]: of unit length for the cosine, else as they are.

        Raises:
            ValueError: a row is zero, so it has no cosine.
        """
        block = wide(np.asarray(self.vectors[places]))
        if not self.scaled:
            return block
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block, dtype=np.float64))
        if not lengths.all():  # of shards, which were not looked at before
            raise ValueError(
                "A row of the gallery vectors is zero, so its cosine is undefined; leave it out or search with "
                "similarity='euclidean'."
            )
        return (block / lengths[:, None]).astype(block.dtype)

    def __call__(self, positions: torch.Tensor) -> torch.Tensor:
        """Prepared rows [n d or d+2] of positions [n]."""
        places = positions.numpy()
        ends = places[[0, -1]] if len(places) else (0, -1)
        stretch = ends[1] - ends[0] == len(places) - 1 and (np.diff(places) == 1).all()
        return self.prepared(
            self.rows(slice(int(ends[0]), int(ends[1]) + 1) if stretch else places)
        )

    def prepared(self, rows: np.ndarray) -> torch.Tensor:
        """Return `rows` [n d] as the space compares them, [n d or d+2]."""
        if self.similarity == "cosine":
            return torch.from_numpy(np.ascontiguousarray(rows))
        return torch.from_numpy(self.space.item_rows(rows))

    def origin(self) -> dict[str, np.ndarray]:
        """Return where Euclidean rows are measured from, as arrays to be stored; nothing for the cosine."""
        if self.space.centre is None:
            return {}
        return {"centre": self.space.centre, "unit": np.array([self.space.unit])}

    def measure_as(self, learnt: Mapping[str, np.ndarray]) -> None:
        """Measure rows as those were from which an index has learnt; an index of version 0.2 measured from zero."""
        if self.space.centre is None or not learnt:
            return
        centre = learnt.get("centre", np.zeros(self.vectors.shape[1]))
        unit = float(learnt["unit"][0]) if "unit" in learnt else 1.0
        self.space = replace(self.space, centre=centre, unit=unit)

    def for_engine(self, places: Any) -> np.ndarray:
        """Return the rows of a slice or of positions [n] as float32 [n d] for an engine such as faiss."""
        rows = self.rows(places)
        if self.similarity == "euclidean":
            rows = self.space.measured(rows)
        return np.ascontiguousarray(rows, np.float32)


def checked(gallery: EmbeddingSet, similarity: str) -> Items:
    """The rows of a gallery.

    Raises:
        ValueError: the gallery is empty, misshapen, holds NaN or infinity, or a zero row has no cosine.
    """
    if not isinstance(gallery, Gallery):
        check_set(gallery, "gallery")
    return Items(gallery, similarity)


def digest_of(rows: np.ndarray | None) -> str:
    """Tells tables of numbers apart; empty for none."""
    return (
        ""
        if rows is None
        else hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]
    )


def digest(gallery: EmbeddingSet) -> str:
    """Tells galleries apart without reading all of one."""
    if isinstance(gallery, Gallery):
        return gallery.digest
    some = np.unique(np.linspace(0, len(gallery) - 1, 64).astype(np.int64))
    return digest_of(gallery.vectors[some])
