"""The compiled way to an exact ranking: approximate tiles, decisions by margin, exact looks at what is close.

Same result as the plain way of `_ranking`, at about the price of half a product when queries and gallery are one set:
a tile then serves its rows as queries and, turned over, its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

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
        _in_parts(
            lambda first, last: _scans.best_keys(
                first, last, self.k, self.counts, self.scores, self.columns, self.queries, self.items, out
            ),
            len(out),
        )
        return out

    def above(self) -> np.ndarray:
        """int64 [p], items above each positive, in the order of `keys`."""
        _scans.settle(self.task.offsets, self.by_tile, _scans.FEW)
        _scans.settle(self.task.offsets, self.by_exact_tile, 0)
        return self.by_tile + self.by_look + self.by_exact_tile


def _in_parts(work: Callable[[int, int], object], size: int) -> None:
    """Run work(first, last) over a range, one part for each of torch's threads; the compiled code runs side by side."""
    threads = torch.get_num_threads()
    edges = np.linspace(0, size, threads + 1).astype(int)
    parts = [(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True) if b > a]
    if len(parts) == 1:
        work(*parts[0])
        return
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda part: work(*part), parts))


def _pieces(size: int) -> Iterator[slice]:
    for start in range(0, size, TILE):
        yield slice(start, min(start + TILE, size))


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
    tiles, q (1.5 k + 64) candidates, three counters for each positive.
    """
    same = len(queries) == len(items) and (queries is items or torch.equal(queries, items))
    if same:
        queries = items
    product = product_for(task, queries, items)
    scan = Scan(task, queries.numpy(), items.numpy(), k, product.margins)

    def add(tile: np.ndarray, rows: slice, columns: slice) -> None:
        _in_parts(lambda a, b: scan.add(tile[a:b], rows.start + a, columns.start), len(tile))

    done, total = 0, len(queries) * len(items)
    for rows in _pieces(len(queries)):
        for columns in _pieces(len(items)):
            if same and columns.start < rows.start:
                continue
            tile = product.tile(rows, columns)
            turned = torch.from_numpy(tile).T.contiguous().numpy() if same and columns.start > rows.start else None
            add(tile, rows, columns)
            if turned is not None:
                add(turned, columns, rows)
            done += tile.size * (1 if turned is None else 2)
            if progress:
                progress(done, total)
    retrieved = len(items) - (task.self_index >= 0).astype(np.int64)
    best, above = torch.from_numpy(scan.best()), scan.above()
    compared = np.full(len(queries), len(items))
    return assemble(task, scan.order, scan.keys, above, best, retrieved, compared, shift)


def rehearse() -> None:
    """Rank four images, to learn whether this machine can compile the scans."""
    rows, labels = torch.eye(4), np.array([0, 0, 1, 1])
    task = Task(labels, labels, np.arange(4), np.arange(5), np.array([1, 0, 3, 2]), None)
    rank_all(task, rows, rows, np.zeros(4), 2, None)
