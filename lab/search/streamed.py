"""Exact search of a gallery that does not fit into memory: every query against every item, read once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.core.streams import ReportProgress
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index, join, nearest_rows
from lab.search._items import checked
from lab.search._ranking import Task

ITEMS = 65_536
"""Rows that `neighbours` reads at once: 32 MB at 128 numbers a row."""

Mapped = Callable[[Callable[["Stretch"], "StretchResult"], list["Stretch"]], Iterable["StretchResult"]]
"""As `map`: calls a function with each part, here or elsewhere, and gives what they return, in any order."""


@dataclass(frozen=True)
class StretchResult:
    """What one part of a gallery says: how many of its items lie above each relevant one [p], and its best keys."""

    above: np.ndarray
    best: np.ndarray
    items: int


class Streamed(Index):
    """The ranking of `exact`, bit for bit, without the gallery in memory.

    Vectors may lie in shards (`lab.galleries`) or in a memory map. The rows of all positives are fetched first, then
    the whole gallery is read once, a tile at a time. Time O(q g d); memory O(tile + q k + positives), which does not
    grow with the gallery. Several workers may read a part of the gallery each, see `rank_over`.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("streamed", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    def __init__(self, device: str | torch.device = "auto", **knobs: Any):
        super().__init__("cpu", **knobs)

    def build(self, gallery: EmbeddingSet) -> Streamed:
        self.rows = checked(gallery, self.knobs.similarity)
        self.space = self.rows.space()
        self._hold(gallery)
        return self

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        return self._over(map, 1, task, vectors, progress)

    def rank_over(
        self,
        mapped: Mapped,
        parts: int,
        query: EmbeddingSet,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: ReportProgress | None = None,
    ) -> Ranking:
        """As `rank`, with the gallery cut into parts that are read by whoever `mapped` calls; the same bits.

        Args:
            mapped: `map`, or what does the same on other processes or machines; they must see the gallery's folder.
            parts: how many; each is a stretch of the gallery.
        """
        return self._over(mapped, parts, self._task(query, same_source, relevant), query.vectors, progress)

    def _over(
        self, mapped: Mapped, parts: int, task: Task, vectors: np.ndarray, progress: ReportProgress | None
    ) -> Ranking:
        size, request = len(self._built()), (task.without_gallery(), vectors, dict(self.knobs))
        edges = np.linspace(0, size, min(parts, size) + 1).astype(np.int64).tolist()
        work = [Stretch(*request, self._built(), *edge) for edge in itertools.pairwise(edges)]
        ranker = work[0].ranker(self)
        if len(work) == 1:
            ranker.above, ranker.best = work[0].walk(ranker, progress)
        else:
            done = 0
            for part in mapped(compare, work):
                ranker.above += part.above
                both = torch.cat([ranker.best, torch.from_numpy(part.best)], dim=1)
                ranker.best = sort_keys.best(both, ranker.k)
                done += part.items
                if progress:
                    progress(done * len(vectors), size * len(vectors))
        ranker.task = task
        retrieved = size - (task.self_index >= 0).astype(np.int64)
        return ranker.finish(retrieved, np.full(len(vectors), size), self.space.shift(vectors))

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        queries, best = self.space.queries(vectors), None
        for start in range(0, len(self.rows), ITEMS):
            positions = torch.arange(start, min(len(self.rows), start + ITEMS))
            nearest = nearest_rows(queries, self.rows(positions), positions, k)
            best = nearest if best is None else join([best, nearest], k)
        assert best is not None, "no gallery is empty"
        return best[0].numpy(), best[1].numpy()


@dataclass(frozen=True)
class Stretch:
    """A stretch of a gallery, and what is asked of it; small enough to be sent elsewhere.

    task: without the labels of the gallery. vectors: of the queries. knobs: of the index. first, last: rows.
    """

    task: Task
    vectors: np.ndarray
    knobs: dict[str, Any]
    gallery: EmbeddingSet
    first: int
    last: int

    def ranker(self, index: Streamed) -> _ranking.Ranker:
        queries, k = index.space.queries(self.vectors), min(self.knobs["k"], len(self.gallery))
        return _ranking.Ranker(self.task, queries, index.rows, k)

    def walk(self, ranker: _ranking.Ranker, progress: ReportProgress | None) -> tuple[np.ndarray, torch.Tensor]:
        """Feed the rows to a ranker, each read once however many the queries."""
        queries = len(self.vectors)
        for left in range(self.first, self.last, _ranking.ITEM_ROWS):
            columns = np.arange(left, min(self.last, left + _ranking.ITEM_ROWS))
            items = ranker.fetch(torch.from_numpy(columns))
            for top in range(0, queries, _ranking.QUERY_ROWS):
                ranker.add(np.arange(top, min(queries, top + _ranking.QUERY_ROWS)), columns, items)
            if progress:
                progress((int(columns[-1]) + 1 - self.first) * queries, (self.last - self.first) * queries)
        return ranker.above, ranker.best


def compare(part: Stretch) -> StretchResult:
    """Compare all queries with a stretch of the gallery; what a worker does."""
    index = Streamed(**part.knobs).build(part.gallery)
    above, best = part.walk(part.ranker(index), None)
    return StretchResult(above, best.numpy(), part.last - part.first)
