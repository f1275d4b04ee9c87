"""The compiled way to an exact ranking: approximate tiles, decisions by margin, exact looks at what is close.

Same result as the plain way of `_ranking`, at about the price of half a product when queries and gallery are one set:
a tile then serves its rows as queries and its columns, too.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext

import numpy as np
import torch

from lab.core import threads
from lab.core.results import Ranking
from lab.core.streams import ReportProgress
from lab.kernels import products, sort_keys
from lab.kernels.ranks.transpose import transposed
from lab.search import _scans, _tile_scans
from lab.search._ranking import Task, assemble

TILE = 512
"""Rows and columns of a tile: 1 MB of scores."""

SPARE = 16
"""Candidates beside half as many again as are wanted, at which those that cannot be among the best are dropped."""

DOUBTFUL = TILE * TILE // 16
"""Doubtful triples of a tile beyond which it is counted exactly throughout."""


class Scan:
    """The state of one pass: a counter for each positive, and the candidates of every query.

    many: bool [parts], whether a query of this part, TILE of them, has more than FEW positives.
    """

    def __init__(self, task: Task, queries: np.ndarray, items: np.ndarray, k: int, margins: np.ndarray):
        self.task, self.queries, self.items = task, queries, items
        scores = np.empty(len(task.items), np.float32)
        _scans.pair_scores(queries, items, task.queries_of_items, task.items, scores)
        keys = sort_keys.pack(torch.from_numpy(scores), torch.from_numpy(task.items)).numpy()
        self.order = np.lexsort((keys, task.queries_of_items))
        self.keys = keys[self.order]
        self.ladders = _tile_scans.ladders(task.offsets, scores[self.order], self.keys, task.items[self.order], margins)
        counts = np.diff(task.offsets)
        self.many = [bool(counts[first : first + TILE].max() > _scans.FEW) for first in range(0, len(counts), TILE)]
        # Three ways of counting, summed in the end: by tile, by a look at single pairs, by exact tiles.
        self.by_tile, self.by_look, self.by_exact_tile = (np.zeros(len(keys), np.int64) for _ in range(3))
        self.candidates = _tile_scans.candidates(k, queries, items, margins, self.ladders.low, k + k // 2 + SPARE)

    def add(self, tile: np.ndarray, first_row: int, first_column: int, both: bool) -> None:
        """Take in the scores [a b] of neighbouring queries with neighbouring items; with `both` the items are queries,
        too, and the rows their items."""
        if both and self.many[first_column // TILE]:
            self._scan(tile, first_row, first_column, False)
            self._scan(transposed(tile), first_column, first_row, False)
            return
        if not both:
            self_column = self.task.self_index[first_row : first_row + len(tile)] - first_column
            rows = np.flatnonzero((self_column >= 0) & (self_column < tile.shape[1]))
            tile[rows, self_column[rows]] = -np.inf
        self._scan(tile, first_row, first_column, both)

    def _scan(self, tile: np.ndarray, first_row: int, first_column: int, both: bool) -> None:
        offsets, ends = self.task.offsets, (first_row + len(tile), first_column + tile.shape[1])
        sides = [((first_row, ends[0]), (first_column, ends[1]))]
        if both:
            sides.append(sides[0][::-1])
        owned = [slice(offsets[first], offsets[last]) for (first, last), _ in sides]
        before = [self.by_tile[mine].copy() for mine in owned]
        doubtful = np.empty((DOUBTFUL, 3), np.int64)
        listed = _tile_scans.scan(
            tile, first_row, first_column, both, self.by_tile, doubtful, self.ladders, self.candidates
        )
        if listed <= len(doubtful):
            _scans.look_exactly(
                self.queries, self.items, self.ladders.thresholds, self.ladders.owners, doubtful[:listed], self.by_look
            )
            return
        # Embeddings so alike that the margin decides too little.
        for mine, counted, (rows, columns) in zip(owned, before, sides, strict=True):
            self.by_tile[mine] = counted
            _scans.count_exactly(
                self.queries, self.items, rows, columns, self.task.self_index, offsets, self.keys, self.by_exact_tile
            )

    def best(self) -> np.ndarray:
        """Keys, int64 [q k], of the k best of each query, descending."""
        found = self.candidates
        out = np.full((len(self.queries), found.k), sort_keys.NOTHING)
        threads.parts(
            len(out),
            lambda first, last: _scans.best_keys(
                first, last, found.k, found.counts, found.scores, found.columns, self.queries, self.items, out
            ),
        )
        return out

    def above(self) -> np.ndarray:
        """int64 [p], items above each positive, in the order of `keys`."""
        _scans.settle(self.task.offsets, self.by_tile, _scans.FEW)
        _scans.settle(self.task.offsets, self.by_exact_tile, 0)
        return self.by_tile + self.by_look + self.by_exact_tile


def margins_of(queries: torch.Tensor) -> np.ndarray:
    """float32 [q]: more than the error of a float32 product of unit rows [q d] with any other, in whatever order it is
    summed: d roundings of a sum of magnitudes no greater than 1."""
    longest = 1 + 1e-5  # rows are of unit length within this
    return np.full(len(queries), (queries.shape[1] + 8) * 2.0**-24 * longest**3, np.float32)


def rank_all(
    task: Task, queries: torch.Tensor, items: torch.Tensor, shift: np.ndarray, k: int, progress: ReportProgress | None
) -> Ranking:
    """Compare every query [q d] with every item [g d], unit float32 rows on the CPU.

    When both are the same rows in the same order, and no query is another row's image, only half of the tiles are
    computed. Time O(q g d). Memory: a few tiles for each thread; q (1.5 k + 16) candidates; three counters for each
    positive; 2 t (q + 64) bounds, float32 (`Ladders`), t being the most positives of a query that has at most
    `_scans.FEW`; and, for k up to `_tile_scans.GROUPS`, the greatest k (q + 64) scores, float32 (`Candidates`). A
    thread takes a tile from the product to its counts; counts are whole numbers and candidates are decided exactly, so
    no order shows.
    """
    place = task.self_index  # every query that is in the gallery has to stand at its own place there
    at_home = bool(((place == np.arange(len(place))) | (place < 0)).all())
    same = len(queries) == len(items) and at_home and (queries is items or torch.equal(queries, items))
    if same:
        queries = items
    scan = Scan(task, queries.numpy(), items.numpy(), k, margins_of(queries))

    done, total, counting = 0, len(queries) * len(items), threading.Lock()
    caller = threading.current_thread()
    adding = [threading.Lock() for _ in range(-(-len(queries) // TILE))]  # one thread at a time counts for a query

    def take(place: tuple[int, int]) -> None:
        nonlocal done
        rows, columns = (slice(TILE * part, TILE * part + TILE) for part in place)
        tile = products.product(queries[rows], items[columns]).numpy()
        both = same and place[0] < place[1]
        with adding[place[0]], adding[place[1]] if both else nullcontext():
            scan.add(tile, rows.start, columns.start, both)
        with counting:
            done += tile.size * (2 if both else 1)
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


def warm_up() -> None:
    """Rank four images, to learn whether this machine can compile the scans."""
    rows, labels = torch.eye(4), np.array([0, 0, 1, 1])
    task = Task(labels, labels, np.arange(4), np.arange(5), np.array([1, 0, 3, 2]), None)
    rank_all(task, rows, rows, np.zeros(4), 2, None)
