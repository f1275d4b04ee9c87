"""The compiled way to an exact ranking: approximate tiles, decisions by margin, exact looks at what is close.

Same result as the plain way of `_ranking`, at about the price of half a product when queries and gallery are one set:
a tile then serves its rows as queries and, turned over, its columns.
"""

from __future__ import annotations

import threading

import numpy as np
import torch

from lab.core import threads
from lab.core.results import Ranking
from lab.kernels import sort_keys
from lab.search import _approximate_scores, _scans
from lab.search._base import ReportProgress
from lab.search._ranking import Task, assemble

TILE = 512
"""Rows and columns of a tile: 1 MB of scores, and as much turned over."""

MANY = 64
"""Positives of a query on average beyond which the product with the smallest margin is taken."""

SPARE = 16
"""Candidates beside half as many again as are wanted, at which those that cannot be among the best are dropped."""

DOUBTFUL = TILE * TILE // 16
"""Doubtful triples of a tile beyond which it is counted exactly throughout."""


class Scan:
    """The state of one pass: a counter for each positive, and the candidates of every query."""

    def __init__(self, task: Task, queries: np.ndarray, items: np.ndarray, k: int, margins: np.ndarray):
        self.task, self.queries, self.items, self.k, self.margins = task, queries, items, k, margins
        scores = np.empty(len(task.items), np.float32)
        _scans.pair_scores(queries, items, task.queries_of_items, task.items, scores)
        keys = sort_keys.pack(torch.from_numpy(scores), torch.from_numpy(task.items)).numpy()
        self.order = np.lexsort((keys, task.queries_of_items))
        self.keys, self.thresholds, self.owners = keys[self.order], scores[self.order], task.items[self.order]
        # Three ways of counting, summed in the end: by tile, by a look at single pairs, by exact tiles.
        self.by_tile, self.by_look, self.by_exact_tile = (np.zeros(len(keys), np.int64) for _ in range(3))
        room = k + k // 2 + SPARE
        self.floors = np.full(len(queries), np.finfo(np.float32).min, np.float32)
        self.counts = np.zeros(len(queries), np.int64)
        self.scores = np.empty((len(queries), room), np.float32)
        self.columns = np.empty((len(queries), room), np.int32)

    def add(self, tile: np.ndarray, first_row: int, first_column: int) -> None:
        """Take in the scores [a b] of neighbouring queries with neighbouring items."""
        self_column = self.task.self_index[first_row : first_row + len(tile)] - first_column
        rows = np.flatnonzero((self_column >= 0) & (self_column < tile.shape[1]))
        tile[rows, self_column[rows]] = -np.inf
        self._count(tile, first_row, first_column)
        _scans.gather_tile(
            tile, first_row, first_column, self.k, self.margins, self.floors, self.counts, self.scores, self.columns,
            self.queries, self.items,
        )  # fmt: skip

    def _count(self, tile: np.ndarray, first_row: int, first_column: int) -> None:
        offsets, last_row = self.task.offsets, first_row + len(tile)
        mine = slice(offsets[first_row], offsets[last_row])
        before = self.by_tile[mine].copy()
        doubtful = np.empty((DOUBTFUL, 3), np.int64)
        listed = _scans.count_tile(
            tile, first_row, first_column, offsets, self.thresholds, self.keys, self.owners, self.margins,
            self.by_tile, doubtful, self.queries, self.items,
        )  # fmt: skip
        if listed <= len(doubtful):
            _scans.look_exactly(self.queries, self.items, self.thresholds, self.owners, doubtful[:listed], self.by_look)
            return
        # Embeddings so alike that the margin decides too little.
        self.by_tile[mine] = before
        _scans.count_exactly(
            self.queries, self.items, (first_row, last_row), (first_column, first_column + tile.shape[1]),
            self.task.self_index, offsets, self.keys, self.by_exact_tile,
        )  # fmt: skip

    def best(self) -> np.ndarray:
        """Keys, int64 [q k], of the k best of each query, descending."""
        out = np.full((len(self.queries), self.k), sort_keys.NOTHING)
        threads.parts(
            len(out),
            lambda first, last: _scans.best_keys(
                first, last, self.k, self.counts, self.scores, self.columns, self.queries, self.items, out
            ),
        )
        return out

    def above(self) -> np.ndarray:
        """int64 [p], items above each positive, in the order of `keys`."""
        _scans.settle(self.task.offsets, self.by_tile, _scans.FEW)
        _scans.settle(self.task.offsets, self.by_exact_tile, 0)
        return self.by_tile + self.by_look + self.by_exact_tile


def product_for(
    task: Task, queries: torch.Tensor, items: torch.Tensor
) -> _approximate_scores.FloatProduct | _approximate_scores.SplitProduct:
    """The product to scan: the more positives a query has, the more scores are doubtful, and the more a small margin is
    worth."""
    if len(task.items) > MANY * len(queries):
        return _approximate_scores.FloatProduct(queries, items)
    return _approximate_scores.fastest(queries, items, TILE)


def rank_all(
    task: Task,
    queries: torch.Tensor,
    items: torch.Tensor,
    shift: np.ndarray,
    k: int,
    progress: ReportProgress | None,
) -> Ranking:
    """Compare every query [q d] with every item [g d], unit float32 rows on the CPU.

    When both are the same rows in the same order only half of the tiles are computed. Time O(q g d); memory a few
    tiles for each thread, q (1.5 k + 16) candidates, three counters for each positive. A thread takes a tile from the
    product to its counts; counts are whole numbers and candidates are decided exactly, so no order shows.
    """
    same = len(queries) == len(items) and (queries is items or torch.equal(queries, items))
    if same:
        queries = items
    product = product_for(task, queries, items)
    scan = Scan(task, queries.numpy(), items.numpy(), k, product.margins)

    done, total, counting = 0, len(queries) * len(items), threading.Lock()
    caller = threading.current_thread()
    adding = [threading.Lock() for _ in range(-(-len(queries) // TILE))]  # one thread at a time counts for a query

    def take(place: tuple[int, int]) -> None:
        nonlocal done
        rows, columns = (slice(TILE * part, TILE * part + TILE) for part in place)
        tile = product.tile(rows, columns)
        turned = torch.from_numpy(tile).T.contiguous().numpy() if same and place[0] < place[1] else None
        for part, scores, first_row, first_column in (
            (place[0], tile, rows.start, columns.start), (place[1], turned, columns.start, rows.start)
        ):  # fmt: skip
            if scores is not None:
                with adding[part]:
                    scan.add(scores, first_row, first_column)
        with counting:
            done += tile.size * (1 if turned is None else 2)
        if progress and threading.current_thread() is caller:  # a page can be written to by its own thread only
            progress(done, total)

    places = [(i, j) for i in range(len(adding)) for j in range(i if same else 0, -(-len(items) // TILE))]
    threads.each(threads.in_rounds(places), take)
    if progress:
        progress(total, total)
    retrieved = len(items) - (task.self_index >= 0).astype(np.int64)
    best, above = torch.from_numpy(scan.best()), scan.above()
    compared = np.full(len(queries), len(items))
    return assemble(task, scan.order, scan.keys, above, best, retrieved, compared, shift)


def rehearse() -> None:
    """Rank four images, to learn whether this machine can compile the scans."""
    rows, labels = torch.eye(4), np.array([0, 0, 1, 1])
    task = Task(labels, labels, np.arange(4), np.arange(5), np.array([1, 0, 3, 2]), None)
    rank_all(task, rows, rows, np.zeros(4), 2, None)
