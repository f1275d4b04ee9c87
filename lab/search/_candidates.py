"""What indexes share whose engine proposes candidates, which the vectors themselves then rank."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
import torch

from lab.core.catalog import name_of
from lab.core.explain import faiss_library
from lab.core.knobs import MOST_ITEMS, HasKnobs, knob
from lab.core.results import EmbeddingSet, Ranking
from lab.core.streams import ReportProgress
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index
from lab.search._items import BLOCK, checked, digest_of
from lab.search._ranking import Task

TOO_CLOSE = 2.0**-10
"""Squared distances below this share of the squared distances to the origin are rounded too much in float32."""

AT_ONCE = 2**23
"""Numbers of candidate rows re-scored at once: 64 MB in float64."""


class ListKnobs(HasKnobs):
    """The knobs of every index, and how many inverted lists it has."""

    lists: int | None = knob(
        "Number of inverted lists; by default about the square root of the gallery's size.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
    )


class CandidateIndex(Index):
    """An engine that proposes candidates; subclasses say which by `_make`, `_candidates` and `_compared`.

    Scores are computed again in float64 and ordered like those of the exact index. Vectors are read a few at a time, so
    a gallery in shards is never held. A ranking is cut at `max(k, most positives of a query)`, which is all that
    R-precision and MAP@R need; positives beyond it are `UNRANKED`.
    """

    asked_with: ClassVar[tuple[str, ...]] = ("folder", "k", "probes", "rerank", "ties")
    """Knobs that nothing which is built depends on."""
    compares_all: ClassVar[bool] = False
    """Whether the engine compares a query with every item, so that nothing may be missing."""

    def _build(self, gallery: EmbeddingSet) -> None:
        self.learnt = {}
        self._again(gallery)

    def _again(self, gallery: EmbeddingSet) -> None:
        self.rows = checked(gallery, self.knobs.similarity)
        self.rows.measure_as(self.learnt)
        self._make(gallery)
        self.space = self.rows.space
        self._hold(gallery)

    def built_with(self) -> dict[str, Any]:
        """The knobs that decide what is built."""
        return {
            name: value for name, value in dict(self.knobs).items() if name not in self.asked_with
        }

    def list_count(self) -> int:
        """How many inverted lists there are to be.

        Raises:
            ValueError: more than items.
        """
        lists = self.knobs.lists or max(1, round(math.sqrt(len(self.rows))))
        if lists > len(self.rows):
            raise ValueError(
                f"lists must be at most the gallery's size, {len(self.rows)}, got {lists}."
            )
        return lists

    def folder_name(self, anchors: np.ndarray | None = None) -> str:
        """What to call the folder of what it builds: another one for other knobs or anchors [c d]."""
        identity = json.dumps([self.built_with(), digest_of(anchors)], sort_keys=True)
        return f"{name_of(type(self))}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"

    def _make(self, gallery: EmbeddingSet) -> None:
        """Index `self.rows`, with what was `learnt` before if there is any.

        What is learnt from measured rows holds the origin, too (`Items.origin`): it means nothing from another one.
        """
        raise NotImplementedError

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        """int64 [q depth], gallery positions for queries float32 [q d] in any order, -1 where there are fewer."""
        raise NotImplementedError

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        """int64 [q], how many similarities are computed for each query, those of the re-ranking left out."""
        raise NotImplementedError

    def _engine_rows(self, vectors: np.ndarray) -> np.ndarray:
        """Return queries as the engine takes them: float32 [q d], unit rows or measured from the space's origin."""
        return np.ascontiguousarray(self.rows.space.measured(vectors), np.float32)

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        size = len(self._built())
        itself = bool((task.self_index >= 0).any())
        depth = min(size, max(self.knobs.k, int(np.diff(task.offsets).max(initial=0))) + itself)
        if task.left_out:  # as many more as may stand before the others and count nowhere
            depth = min(size, depth + task.left_out)
        scores, positions = self._lists(vectors, depth)
        work = self._compared(self._engine_rows(vectors))
        if progress:
            progress(len(vectors), len(vectors))
        ranking = _ranking.from_lists(
            task, self.space, scores, positions, work, min(self.knobs.k, size)
        )
        return replace(ranking, ties=self.knobs.ties)

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        scores, positions = self._lists(vectors, min(k, len(self._built())))
        pad = ((0, 0), (0, k - scores.shape[1]))
        return np.pad(scores, pad, constant_values=np.nan), np.pad(
            positions, pad, constant_values=-1
        )

    def _lists(self, vectors: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores float32 and positions int64 [q depth] for queries [q d], in the project's order; -1 where fewer were
        found."""
        rows = self._engine_rows(vectors)
        queries = self.space.queries(vectors)
        candidates = min(len(self.rows), depth * getattr(self.knobs, "rerank", 1))
        keys = []
        step = max(1, AT_ONCE // (candidates * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            positions = self._candidates(rows[part], candidates)
            items = self.rows.prepared(self.rows.rows(positions.clip(min=0).ravel())).reshape(
                *positions.shape, -1
            )
            scores = self.space.list_scores(queries[part], items)
            found = torch.from_numpy(positions)
            packed = torch.where(
                found >= 0, sort_keys.pack(scores, found, self.knobs.ties), sort_keys.NOTHING
            )
            keys.append(sort_keys.best(packed, depth))
        found = torch.cat(keys)
        if self.compares_all and self.space.centre is not None:
            self._look_again(queries, found)
        best, places = sort_keys.unpack(found, self.knobs.ties)
        return best.numpy(), places.numpy()

    def _look_again(self, queries: torch.Tensor, keys: torch.Tensor) -> None:
        """Compare some prepared queries [q d+2] with the whole gallery, and put what is found into their keys [q k].

        They are those whose neighbours lie so close together, and so far from the origin, that the engine's float32
        does not tell them apart, as in a gallery of several distant groups.
        """
        last = (
            sort_keys.unpack(keys, self.knobs.ties)[0].double().nan_to_num(nan=-torch.inf).amin(1)
        )
        close = (last > 2 * TOO_CLOSE * queries[:, -1]).nonzero()[:, 0]
        for start in range(0, len(self.rows) if len(close) else 0, BLOCK):
            positions = torch.arange(start, min(len(self.rows), start + BLOCK))
            items = self.rows(positions)
            for part in close.split(max(1, AT_ONCE // len(positions))):
                scores = self.space.block_scores(queries[part], items)
                more = sort_keys.pack(scores, positions, self.knobs.ties)
                before = keys[part] if start else torch.full_like(keys[part], sort_keys.NOTHING)
                keys[part] = sort_keys.best(torch.cat([before, more], dim=1), keys.shape[1])


class FaissIndex(CandidateIndex):
    """A faiss index over the gallery's rows, on a GPU where there is one; subclasses make it."""

    index = cast(Any, None)

    def _flat(self) -> Any:
        """faiss's flat index for the chosen similarity."""
        faiss = faiss_library()

        width = self.rows.vectors.shape[1]
        return (
            faiss.IndexFlatIP(width)
            if self.knobs.similarity == "cosine"
            else faiss.IndexFlatL2(width)
        )

    def _all_rows(self) -> np.ndarray:
        """Return what faiss sees, float32 [g d]: unit rows, or rows measured from the space's origin."""
        return self.rows.for_engine(slice(None))

    def _hold(self, gallery: EmbeddingSet) -> None:
        super()._hold(gallery)
        self.gpu_index = None
        faiss = faiss_library()

        if self.device.type == "cuda" and getattr(faiss, "get_num_gpus", lambda: 0)():
            resources = faiss.StandardGpuResources()
            self.gpu_index = faiss.index_cpu_to_gpu(resources, self.device.index or 0, self.index)

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        index = self.gpu_index if self.gpu_index is not None and depth <= GPU_DEPTH else self.index
        return index.search(rows, depth)[1]


GPU_DEPTH = 2048
"""faiss returns at most this many neighbours on a GPU."""


def inverted_lists(index: Any, rows: np.ndarray) -> np.ndarray:
    """int64 [q], how many similarities an inverted file of faiss computes for each query row, its centroids' among
    them."""
    probed = index.quantizer.search(np.ascontiguousarray(rows), index.nprobe)[1]
    sizes = np.array([index.invlists.list_size(i) for i in range(index.nlist)])
    return sizes[probed].sum(1) + index.nlist
