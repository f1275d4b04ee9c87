"""Soft histograms on the CPU with compiled tiles: one tile of the similarity matrix serves both of its sides.

Forward walks the upper triangle of tiles and keeps one byte a pair, the interval it fell into, while a small budget
lasts: all that backward has to know of a similarity. So 3 n^2 d operations do, against 6 n^2 d of a product and its two
backward products, and 4 n^2 d where the bytes are not kept.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lab.core import threads
from lab.kernels import sharing
from lab.kernels.cpu import numba_histograms as numba_tiles
from lab.kernels.cpu.ranks import MASKED, Place
from lab.kernels.cpu.tiles import Tiles

KEPT_BYTES = 11 << 20
"""Budget for intervals that forward keeps for backward: all of them up to some 4,600 rows."""


class HistogramTileLoop:
    """One batch compared with itself: `forward`, then `backward` as often as wanted."""

    def __init__(
        self, rows: Tensor, labels: Tensor, exclude_self: bool, low: float, intervals: int
    ):
        self.tiles = Tiles(rows, np.arange(len(rows)))
        self.exclude_self = exclude_self
        # twice as many a vector
        self.labels = np.unique(labels.numpy(), return_inverse=True)[1].astype(np.int32)
        self.intervals, self.per = intervals, np.float32(intervals / (1 - low))
        self.share = sharing.current()
        self.places = self.share.places(self.tiles.places())
        self.kept: dict[Place, np.ndarray] = {}
        self.room = KEPT_BYTES

    def forward(self, keep: bool) -> Tensor:
        """Positives in each bin, and items in the bins up to it, [n 2 intervals+1]."""
        histograms = np.zeros((2, len(self.labels), self.intervals + 1))

        def measure(place: Place) -> tuple[np.ndarray, np.ndarray]:
            tile = self._tile(*place)
            return tile, torch.from_numpy(tile).amax(1).numpy()

        def make_room(place: Place, prepared: tuple[np.ndarray, np.ndarray]) -> None:
            tile = prepared[0]
            if keep and self.room >= tile.size:
                self.kept[place] = np.empty(tile.shape, np.uint8)
                self.room -= tile.size

        def count(place: Place, prepared: tuple[np.ndarray, np.ndarray]) -> None:
            i, j = place
            corner = self.tiles.edges[i], self.tiles.edges[j]
            numba_tiles.count_bins(
                *prepared, *corner, self.labels, self.per, self.intervals, i != j, *histograms
            )
            if place in self.kept:
                numba_tiles.find_intervals(prepared[0], self.per, self.intervals, self.kept[place])

        threads.in_turns(threads.in_rounds(self.places), measure, count, settle=make_room)
        histograms = self.share.sum(torch.from_numpy(histograms))[0].numpy()
        histograms[1, :, -1] = len(self.labels) - self.exclude_self
        return torch.from_numpy(histograms).float().transpose(0, 1).contiguous()

    def backward(self, weights: Tensor) -> Tensor:
        """Gradient of the rows, [n d], from that of the histograms, [n 2 intervals+1]."""
        of_found, of_seen = weights.transpose(0, 1).numpy() * self.per
        nothing = np.zeros((len(of_found), 1), np.float32)
        of_found = np.concatenate([of_found[:, :-1] - of_found[:, 1:], nothing], 1)
        of_seen = np.concatenate([of_seen[:, :-1], nothing], 1)
        gradient = torch.zeros_like(self.tiles.rows)

        def slopes(place: Place) -> np.ndarray:
            i, j = place
            intervals = (
                self.kept[place] if place in self.kept else self._intervals(self._tile(i, j))
            )
            of_tile = np.empty(intervals.shape, np.float32)
            corner = self.tiles.edges[i], self.tiles.edges[j]
            numba_tiles.look_up_slopes(
                intervals, *corner, self.labels, of_seen, of_found, i != j, of_tile
            )
            return of_tile

        def spread(place: Place, of_tile: np.ndarray) -> None:
            self.tiles.spread(torch.from_numpy(of_tile), *place, gradient)

        threads.in_turns(threads.in_rounds(self.places), slopes, spread)
        return gradient

    def _tile(self, i: int, j: int) -> np.ndarray:
        """Similarities, what is not counted masked."""
        tile = self.tiles.product(i, j).numpy()
        if i == j and self.exclude_self:
            np.fill_diagonal(tile, MASKED)
        return tile

    def _intervals(self, tile: np.ndarray) -> np.ndarray:
        intervals = np.empty(tile.shape, np.uint8)
        numba_tiles.find_intervals(tile, self.per, self.intervals, intervals)
        return intervals


def warm_up() -> None:
    """Count four rows, to learn whether this machine can compile the kernels."""
    loop = HistogramTileLoop(
        torch.eye(4), torch.tensor([0, 0, 1, 1]), exclude_self=True, low=-1.0, intervals=2
    )
    loop.backward(loop.forward(keep=True))
