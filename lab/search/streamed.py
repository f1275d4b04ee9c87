"""Exact search of a gallery that does not fit into memory: every query against every item, read once."""

from __future__ import annotations

import numpy as np
import torch

from lab.core.results import EmbeddingSet, Ranking
from lab.core.streams import ReportProgress
from lab.search import _ranking
from lab.search._base import Index, join, nearest_rows
from lab.search._items import checked
from lab.search._ranking import Task

ITEMS = 65_536
"""Rows that `neighbours` reads at once: 32 MB at 128 numbers a row."""


class Streamed(Index):
    """The ranking of `exact`, bit for bit, without the gallery in memory.

    Vectors may lie in shards (`lab.search.galleries`) or in a memory map. The rows of all positives are fetched first,
    then the whole gallery is read once, a tile at a time. Time O(q g d); memory O(tile + q k + positives), which does
    not grow with the gallery.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("streamed", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    def __post_init__(self) -> None:
        self.device = "cpu"
        super().__post_init__()

    def _build(self, gallery: EmbeddingSet) -> None:
        self.rows = checked(gallery, self.knobs.similarity)
        self.space = self.rows.space
        self._hold(gallery)

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        size = len(self.rows)
        queries = len(vectors)
        ranker = _ranking.Ranker(
            task,
            self.space,
            self.space.queries(vectors),
            self.rows,
            min(self.knobs.k, size),
            ties=self.knobs.ties,
        )
        # each row is read once, however many the queries
        for left in range(0, size, _ranking.ITEM_ROWS):
            columns = np.arange(left, min(size, left + _ranking.ITEM_ROWS))
            items = self.rows(torch.from_numpy(columns))
            for top in range(0, queries, _ranking.QUERY_ROWS):
                ranker.add(np.arange(top, min(queries, top + _ranking.QUERY_ROWS)), columns, items)
            if progress:
                progress((int(columns[-1]) + 1) * queries, size * queries)
        retrieved = size - (task.self_index >= 0).astype(np.int64)
        return ranker.finish(retrieved, np.full(queries, size))

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        queries = self.space.queries(vectors)
        best = None
        for start in range(0, len(self.rows), ITEMS):
            positions = torch.arange(start, min(len(self.rows), start + ITEMS))
            nearest = nearest_rows(self.space, queries, self.rows(positions), positions, k)
            best = nearest if best is None else join([best, nearest], k)
        assert best is not None, "no gallery is empty"
        return best[0].numpy(), best[1].numpy()
