"""k-reciprocal re-ranking on the CPU by compiled loops: the ranking of the plain tensors, in a fraction of the time.

Distances come from float32 products whose error is bounded, and only what is close is computed in float64: the nearest
neighbours, the farthest one, and whatever stands near a positive. Pieces of it run on as many threads as torch has.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import torch

from lab.core import threads
from lab.core.results import Ranking
from lab.kernels import products, sort_keys
from lab.reranking import _numba_rows
from lab.reranking._base import Nodes, euclidean_rows, reranked
from lab.search import _scans

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TILE = 1024
"""Rows and columns of the tiles in which neighbours are looked for."""

ITEMS = 4096
"""Gallery rows that are multiplied at once."""

BLOCK_BYTES = 64 << 20
"""Similarities of some queries with the whole gallery, that a thread holds."""

ROUNDOFF = 2.0**-24
"""Of float32."""


class Distances:
    """The squared distances of all nodes: neighbours, farthest ones, and those of single pairs.

    lists: int64 [n k], each node itself and its k-1 nearest others. greatest: float64 [n].
    """

    def __init__(self, vectors: torch.Tensor, k: int):
        self.vectors = vectors.contiguous()
        self.left, self.right = (rows.numpy() for rows in euclidean_rows(self.vectors))
        self.squares = np.ascontiguousarray(self.right[:, -1])
        lengths = np.sqrt(self.squares)
        # A sum of d products errs by d roundings at most of |a| |b|; what is made of it by a few of its own size.
        sums = (vectors.shape[1] + 8) * ROUNDOFF * lengths * lengths.max()
        # The last term: what is too small for float32 is lost.
        own_size = 2 * lengths * lengths.max() + self.squares.max()
        self.errors = 1.001 * (2 * sums + 4 * ROUNDOFF * own_size) + vectors.shape[1] * 2.0**-124
        self.lists, least = self._scan(k - 1)
        self.greatest = self.squares - least
        self.greatest[self.greatest <= 0] = 1  # all images alike: every distance is 0

    def _scan(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        n, room = len(self.vectors), k + k // 2 + 64
        margins, floors = self.errors.astype(np.float32), np.full(n, _numba_rows.LOWEST)
        counts, scores, columns = np.zeros(n, np.int64), np.empty((n, room), np.float32), np.empty((n, room), np.int32)
        least, exact = np.full(n, np.inf), (self.left, self.right)
        adding = [threading.Lock() for _ in range(-(-n // TILE))]

        def add(tile: np.ndarray, rows: slice, others: slice) -> None:
            corner = rows.start, others.start
            _numba_rows.to_nearness(tile, self.squares[others])
            with adding[rows.start // TILE]:
                _numba_rows.note_farthest(tile, *corner, self.errors, least, *exact)
                if rows == others:
                    np.fill_diagonal(tile, -np.inf)
                _scans.gather_tile(tile, *corner, k, margins, floors, counts, scores, columns, *exact)

        def take(place: tuple[int, int]) -> None:
            rows, others = (slice(TILE * part, TILE * part + TILE) for part in place)
            tile = products.product(self.vectors[rows], self.vectors[others])
            turned = tile.T.contiguous() if rows != others else None
            add(tile.numpy(), rows, others)
            if turned is not None:
                add(turned.numpy(), others, rows)

        places = [(i, j) for i in range(len(adding)) for j in range(i, len(adding))]
        threads.each(threads.in_rounds(places), take)
        keys = np.full((n, k), sort_keys.NOTHING)
        threads.parts(n, lambda first, last: _scans.best_keys(first, last, k, counts, scores, columns, *exact, keys))
        others = sort_keys.unpack(torch.from_numpy(keys))[1].numpy()
        return np.concatenate([np.arange(n)[:, None], others], axis=1), least

    def scaled(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Squared distances of pairs, float64 [p], over the greatest one of the first."""
        out = np.empty(len(rows))
        measured = self.vectors.numpy(), self.greatest
        threads.parts(len(rows), lambda a, b: _numba_rows.scaled_gaps(rows[a:b], columns[a:b], *measured, out[a:b]))
        return out


def rerank(ranking: Ranking, graph: Nodes, known: Distances, weights: csr_array, lam: float) -> Ranking:
    """The ranking by (1 - lam) Jaccard distance of the sparse weights [n n] + lam scaled distance."""
    first_item, query, columns = graph.first_item, graph.query.numpy(), weights.tocsc()
    sparse = weights.indptr, weights.indices, weights.data, columns.indptr, columns.indices, columns.data
    measured = known.vectors.numpy(), known.squares, known.greatest
    margins = lam * known.errors / known.greatest + 8 * ROUNDOFF
    gallery = known.vectors[first_item:]
    best = np.full((len(query), ranking.neighbours.shape[1]), sort_keys.NOTHING)
    ranks = np.empty(len(ranking.positive_items), np.int64)
    height = max(1, BLOCK_BYTES // 4 // len(gallery))

    def take(first: int) -> None:
        some = slice(first, min(first + height, len(query)))
        block = torch.empty(some.stop - first, len(gallery))
        queries = known.vectors[graph.query[some]]
        for start in range(0, len(gallery), ITEMS):
            block[:, start : start + ITEMS] = products.product(queries, gallery[start : start + ITEMS])
        mine = slice(ranking.offsets[first], ranking.offsets[some.stop])
        _numba_rows.rank_rows(
            block.numpy(), query[some], ranking.self_index[some], first_item, *sparse, *measured, margins, lam,
            ranking.offsets[first : some.stop + 1] - mine.start, ranking.positive_items[mine], best[some], ranks[mine],
        )  # fmt: skip

    threads.each(range(0, len(query), height), take)
    scores, neighbours = sort_keys.unpack(torch.from_numpy(best))
    return reranked(ranking, neighbours.numpy(), scores.numpy(), ranks)
