"""Exact search of a gallery that does not fit into memory: every query against every item, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lab.core.results import EmbeddingSet, Ranking, Relevance
from lab.kernels import sort_keys
from lab.search import _ranking
from lab.search._base import Index, ReportProgress, join, nearest_rows
from lab.search._items import checked

ITEMS = 65_536
"""Rows that `neighbours` reads at once: 32 MB at 128 numbers a row."""

Mapped = Callable[[Callable[["Part"], "PartResult"], list["Part"]], Iterable["PartResult"]]
"""As `map`: calls a function with each part, here or elsewhere, and gives what they return, in any order."""


@dataclass(frozen=True)
class PartResult:
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

    def rank(
        self,
        query: EmbeddingSet,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: ReportProgress | None = None,
    ) -> Ranking:
        return self.rank_over(map, 1, query, same_source, relevant, progress)

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
        self._check_query(query, same_source)
        task, size = _ranking.task(query, self._built(), same_source, relevant), len(self._built())
        request = Request(task.without_gallery(), query.vectors, dict(self.knobs), min(self.knobs.k, size))
        ranker = request.ranker(self)
        edges = np.linspace(0, size, min(parts, size) + 1).astype(np.int64)
        work = [
            Part(request, self._built(), *edge) for edge in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        if len(work) == 1:
            ranker.above, ranker.best = _walk(ranker, 0, size, len(query), progress)
        else:
            done = 0
            for part in mapped(compare, work):
                ranker.above += part.above
                both = torch.cat([ranker.best, torch.from_numpy(part.best)], dim=1)
                ranker.best = sort_keys.best(both, ranker.k)
                done += part.items
                if progress:
                    progress(done * len(query), size * len(query))
        ranker.task = task
        retrieved = size - (task.self_index >= 0).astype(np.int64)
        return ranker.finish(retrieved, np.full(len(query), size), self.space.shift(query.vectors))

    def neighbours(self, vectors: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        vectors, k = self._check_vectors(vectors, "query"), self._depth(k)
        queries, best = self.space.queries(vectors), None
        for start in range(0, len(self.rows), ITEMS):
            positions = torch.arange(start, min(len(self.rows), start + ITEMS))
            nearest = nearest_rows(queries, self.rows(positions), positions, k)
            best = nearest if best is None else join([best, nearest], k)
        assert best is not None, "no gallery is empty"
        scores, rows = best
        return self._shown(scores.numpy(), rows.numpy(), vectors)


@dataclass(frozen=True)
class Request:
    """What every part of the gallery is asked; small enough to be sent elsewhere."""

    task: _ranking.Task
    vectors: np.ndarray
    knobs: dict[str, Any]
    k: int

    def ranker(self, index: Streamed) -> _ranking.Ranker:
        return _ranking.Ranker(self.task, index.space.queries(self.vectors), index.rows, self.k)


@dataclass(frozen=True)
class Part:
    """A stretch of a gallery, and what is asked of it."""

    request: Request
    gallery: EmbeddingSet
    first: int
    last: int


def compare(part: Part) -> PartResult:
    """Compare all queries with a stretch of the gallery; what a worker does."""
    index = Streamed(**part.request.knobs).build(part.gallery)
    above, best = _walk(part.request.ranker(index), part.first, part.last, len(part.request.vectors), None)
    return PartResult(above, best.numpy(), part.last - part.first)


def _walk(
    ranker: _ranking.Ranker, first: int, last: int, queries: int, progress: ReportProgress | None
) -> tuple[np.ndarray, torch.Tensor]:
    """Feed a stretch of the gallery to a ranker, each row read once however many the queries."""
    for left in range(first, last, _ranking.ITEM_ROWS):
        columns = np.arange(left, min(last, left + _ranking.ITEM_ROWS))
        items = ranker.fetch(torch.from_numpy(columns))
        for top in range(0, queries, _ranking.QUERY_ROWS):
            ranker.add(np.arange(top, min(queries, top + _ranking.QUERY_ROWS)), columns, items)
        if progress:
            progress((int(columns[-1]) + 1 - first) * queries, (last - first) * queries)
    return ranker.above, ranker.best
