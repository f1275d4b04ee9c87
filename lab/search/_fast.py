"""The compiled way to an exact ranking: approximate tiles, decisions by margin, exact looks at what is close.

Same result as the plain way of `_ranking`, at about the price of half a product when queries and gallery are one set:
a tile then serves its rows as queries and its columns, too.
"""

from __future__ import annotations

import threading

import numpy as np
import torch

from lab.core import threads
from lab.core.results import Ranking
from lab.core.streams import ReportProgress
from lab.kernels import sort_keys
from lab.kernels.cpu import products
from lab.kernels.cpu.bits import TOGETHER
from lab.kernels.cpu.transpose import transposed
from lab.kernels.sort_keys import Space, Ties
from lab.search import _scans
from lab.search._ranking import Task, assemble

TILE = 512
"""Rows and columns of a tile: 1 MB of scores."""

SPARE = 16
"""Candidates beside half as many again as are wanted, at which those that cannot be among the best are dropped."""


class Scan:
    """The state of one pass: a counter for each positive, and the candidates of every query."""

    def __init__(
        self,
        task: Task,
        queries: np.ndarray,
        items: np.ndarray,
        k: int,
        ties: Ties,
        margins: np.ndarray,
        places: np.ndarray,
    ):
        """`places` int64 [g] are the gallery positions of the items, which decide the order of equal scores."""
        self.task, self.k, n = task, k, len(queries)
        self.rows = queries, items, sort_keys.tie_codes(places, ties)
        scores = np.empty(len(task.items), np.float32)
        _scans.pair_scores(queries, items, task.queries_of_items, task.items, scores)
        keys = sort_keys.pack(
            torch.from_numpy(scores), torch.from_numpy(places[task.items]), ties
        ).numpy()
        self.order = np.lexsort((keys, task.queries_of_items))
        self.keys, self.thresholds = keys[self.order], scores[self.order]
        self.counters = np.zeros(len(keys), np.int64)
        self.margins, self.floors = margins, np.full(n, np.finfo(np.float32).min)
        room = k + k // 2 + SPARE
        self.found = (
            np.zeros(n, np.int64),
            np.empty((n, room), np.float32),
            np.empty((n, room), np.int32),
        )

    def add(self, tile: np.ndarray, first_row: int, first_column: int) -> None:
        """Take in the scores [a b] of neighbouring queries with neighbouring items."""
        if ragged := -tile.shape[1] % TOGETHER:
            tile = np.pad(tile, ((0, 0), (0, ragged)), constant_values=-np.inf)
        _scans.scan(
            tile,
            first_row,
            first_column,
            self.task.offsets,
            self.thresholds,
            self.keys,
            self.counters,
            self.k,
            self.margins,
            self.floors,
            *self.found,
            *self.rows,
        )

    def best(self) -> np.ndarray:
        """Keys, int64 [q k], of the k best of each query, descending."""
        out = np.full((len(self.floors), self.k), sort_keys.NOTHING)
        threads.parts(
            len(out), lambda a, b: _scans.best_keys(a, b, self.k, *self.found, *self.rows, out)
        )
        return out

    def above(self) -> np.ndarray:
        """int64 [p], items above each positive, in the order of `keys`."""
        _scans.settle(self.task.offsets, self.counters, _scans.FEW)
        return self.counters


def margins_of(queries: torch.Tensor) -> np.ndarray:
    """float32 [q]: more than the error of a float32 product of unit rows [q d] with any other, in whatever order it is
    summed: d roundings of a sum of magnitudes no greater than 1."""
    longest = 1 + 1e-5  # rows are of unit length within this
    return np.full(len(queries), (queries.shape[1] + 8) * 2.0**-24 * longest**3, np.float32)


def rank_all(
    task: Task,
    space: Space,
    queries: torch.Tensor,
    k: int,
    ties: Ties,
    progress: ReportProgress | None,
    gallery_places: np.ndarray | None = None,
) -> Ranking:
    """Compare every prepared query [q d] with every item [g d] of a space: unit float32 rows on the CPU.

    When both are the same rows in the same order, and no query is another row's image, only half of the tiles are
    computed. Time O(q g d). Memory: a few tiles for each thread; q (1.5 k + 16) candidates; a counter for each
    positive. A thread takes a tile from the product to its counts; counts are whole numbers and candidates are decided
    exactly, so no order shows.

    Args:
        gallery_places: int64 [g], the positions of the items where they are a part of a gallery; the neighbours are
            then such positions.
    """
    items = space.items
    # every query that is in the gallery has to stand at its own place there
    place = task.self_index
    at_home = bool(((place == np.arange(len(place))) | (place < 0)).all())
    same = (
        len(queries) == len(items) and at_home and (queries is items or torch.equal(queries, items))
    )
    if same:
        queries = items
    if gallery_places is None:
        gallery_places = np.arange(len(items))
    scan = Scan(task, queries.numpy(), items.numpy(), k, ties, margins_of(queries), gallery_places)

    done = 0
    total = len(queries) * len(items)
    counting = threading.Lock()
    caller = threading.current_thread()
    # one thread at a time counts for a query
    adding = [threading.Lock() for _ in range(-(-len(queries) // TILE))]

    def take(place: tuple[int, int]) -> None:
        nonlocal done
        rows, columns = (slice(TILE * part, TILE * part + TILE) for part in place)
        tile = products.product(queries[rows], items[columns]).numpy()
        if both := same and place[0] < place[1]:
            turned = transposed(tile)
            with adding[place[1]]:
                scan.add(turned, columns.start, rows.start)
        else:
            own = task.self_index[rows] - columns.start
            met = np.flatnonzero((own >= 0) & (own < tile.shape[1]))
            tile[met, own[met]] = -np.inf
        with adding[place[0]]:
            scan.add(tile, rows.start, columns.start)
        with counting:
            done += tile.size * (2 if both else 1)
        # a page can be written to by its own thread only
        if progress and threading.current_thread() is caller:
            progress(done, total)

    # Where a set is ranked among itself, the upper triangle of tiles is enough.
    tiles_of_items = -(-len(items) // TILE)
    places = []
    for i in range(len(adding)):
        places += [(i, j) for j in range(i if same else 0, tiles_of_items)]
    threads.each(threads.in_rounds(places), take)
    if progress:
        progress(total, total)
    retrieved = len(items) - (task.self_index >= 0).astype(np.int64)
    best = torch.from_numpy(scan.best())
    above = scan.above()
    compared = np.full(len(queries), len(items))
    return assemble(task, space, scan.order, scan.keys, above, best, retrieved, compared, ties)


def warm_up() -> None:
    """Rank four images, to learn whether this machine can compile the scans."""
    rows = torch.eye(4)
    labels = np.array([0, 0, 1, 1])
    task = Task(labels, labels, np.arange(4), np.arange(5), np.array([1, 0, 3, 2]), None)
    rank_all(task, Space("cosine", rows), rows, 2, "gallery", None)
