"""Exact search: every query against every item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from lab.core.knobs import knob
from lab.core.results import Ranking
from lab.core.streams import ReportProgress
from lab.kernels.paths import why_not
from lab.search import _ranking
from lab.search._base import Index, join, nearest_rows
from lab.search._ranking import Task

WORTH_COMPILING = 5000**2
"""Pairs above which loading the compiled code pays."""

QUERIES = 256
ITEMS = 65536
"""Size of the block of similarities that `neighbours` holds: 64 MB."""


class Exact(Index):
    """Compare every query with the whole gallery; the rank of every positive is known.

    Time O(q g d), memory O(tile + q k + positives): never a [q g] matrix. Both paths give the same ranking; "compiled"
    decides by cheap products whose error is bounded and looks exactly at what is close, and computes only half of the
    tiles when queries and gallery are one set.

    Example (`gallery` is that of `lab.search`):
        >>> lab.search.create("exact", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))[1]
        array([[1, 2]])
    """

    path: Literal["auto", "plain", "compiled"] = knob(
        "Plain tensor operations, or code compiled by numba on the CPU; auto: compiled for large sets if "
        "numba is installed.",
        default="auto",
    )

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        queries = self.space.queries(vectors)
        k = min(self.knobs.k, len(self._built()))
        ties = self.knobs.ties
        way = self._way(queries, self.space.items)
        # compiled code counts every item
        if task.left_out and len(task.items) and way is not _ranking.rank_all:
            from lab.search import _fast

            return _ranking.rank_counted(
                task,
                self.space,
                lambda part, counted, places: _fast.rank_all(
                    part, counted, queries, 1, ties, None, places
                ),
                lambda whole: way(whole, self.space, queries, k, ties, progress),
            )
        return way(task, self.space, queries, k, ties, progress)

    def _way(self, queries: torch.Tensor, items: torch.Tensor) -> Callable[..., Ranking]:
        worth = len(queries) * len(items) >= WORTH_COMPILING
        if self.knobs.path == "plain" or (self.knobs.path == "auto" and not worth):
            return _ranking.rank_all
        why_not = why_not_compiled(queries, items)
        if why_not is None:
            from lab.search import _fast

            return _fast.rank_all
        if self.knobs.path == "compiled":
            raise ValueError(f"path='compiled' cannot be taken: {why_not}; use path='auto'.")
        return _ranking.rank_all

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        queries = self.space.queries(vectors)
        parts = []
        for rows in queries.split(QUERIES):
            per_tile = []
            for i, block in enumerate(self.space.items.split(ITEMS)):
                positions = torch.arange(ITEMS * i, ITEMS * i + len(block), device=rows.device)
                per_tile.append(nearest_rows(self.space, rows, block, positions, k))
            parts.append(join(per_tile, k))
        scores = torch.cat([of_queries for of_queries, _ in parts])
        positions = torch.cat([of_queries for _, of_queries in parts])
        return scores.cpu().numpy(), positions.cpu().numpy()


def why_not_compiled(queries: torch.Tensor, items: torch.Tensor) -> str | None:
    """What stands against the compiled path, or None."""
    if items.device.type != "cpu":
        return f"the embeddings are on {items.device}"
    if items.dtype != torch.float32 or queries.dtype != torch.float32:
        return "it works on the cosine of float32 vectors only"
    if torch.get_float32_matmul_precision() != "highest":
        return "torch.set_float32_matmul_precision lowers the precision of products"
    return why_not("numba", "lab.search._fast")
