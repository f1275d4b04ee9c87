"""Tiles of the similarities of a batch with itself, and the gradient of its rows from the gradients of the tiles."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from lab.kernels.cpu import numba_tiles, transpose
from lab.kernels.cpu.diagonals import Layout
from lab.kernels.cpu.products import add_product, product
from lab.kernels.layout import Mixture

TILE = 256
"""Rows of a tile: 256 KB of similarities and as much of gradient, half of a common L2 cache."""

LARGE_TILE = 512
"""Rows of a tile that one process keeps for itself: fewer and quicker products, and still half of a common L3 cache."""

WHOLE = 1536
"""Rows of the largest batch that is one tile, 9.4 MB of similarities and as much of gradient."""

STRIP = 128
"""Rows of the products that fill one half of a symmetric tile."""

MIXED_TILE = 128
"""Originals of a tile with mixtures; four samples a class make 320 ranked rows of them."""

WIDEST_CLASS = 2048
"""Ranked rows of the largest class that mixtures may have here: its tile takes 16 MB, twice."""

HELD_BYTES = 8 << 20
"""Budget for rows that are held in the order of the layout; a batch that fits is copied as a whole."""


class Tiles:
    """The similarities of a batch, as a triangle of tiles.

    rows: [n d], as given or, in a batch that is no larger than `HELD_BYTES`, in the order of the layout.
    order: [n], the given row at each place of the layout; row_at: the row of `rows`.
    edges: where tiles begin and end among the rows; ranked_edges: among what is ranked, which is the same here.
    listable: an entry's gradient goes straight to its two rows.
    """

    listable = True

    def __init__(self, rows: Tensor, order: np.ndarray, height: int | None = None):
        self.edges = self.ranked_edges = [*range(0, len(rows), height or TILE), len(rows)]
        self.take(rows, order)

    @property
    def whole(self) -> bool:
        """Whether there is a single tile, so that its gradient is one product."""
        return len(self.edges) == 2 and self.listable

    def take(self, rows: Tensor, order: np.ndarray) -> None:
        self.rows = rows.contiguous()
        self.order = order
        self.row_at = order
        self.sorted = bool((np.diff(order) == 1).all())
        if not self.sorted and rows.nbytes <= HELD_BYTES:
            self.rows, self.row_at = (
                rows.index_select(0, torch.from_numpy(order)),
                np.arange(len(order)),
            )
        self.held: dict[int, Tensor] = {}
        self.latest = threading.local()

    def places(self) -> Iterator[tuple[int, int]]:
        """List the tiles of the upper triangle."""
        count = len(self.edges) - 1
        return ((i, j) for i in range(count) for j in range(i, count))

    def part(self, i: int) -> Tensor:
        """The rows of one tile. Some are held, each thread's last two always; a large batch is not copied."""
        places = slice(self.edges[i], self.edges[i + 1])
        if self.sorted or self.row_at is not self.order:
            return self.rows[places]
        if i in self.held:
            return self.held[i]
        latest: dict[str, Tensor] = self.latest.__dict__  # of this thread alone
        name = str(i)
        if name in latest:
            latest[name] = latest.pop(name)
            return latest[name]
        rows = self.rows.index_select(0, torch.from_numpy(self.order[places]))
        if rows.nbytes * (1 + len(self.held)) <= HELD_BYTES:
            self.held[i] = rows
            return rows
        for key in list(latest)[:-1]:
            del latest[key]
        latest[name] = rows
        return rows

    def product(self, i: int, j: int) -> Tensor:
        """Compute the similarities of the embeddings of one tile."""
        rows = self.part(i)
        mirrored = i == j and len(rows) >= LARGE_TILE and rows.dtype == torch.float32
        return symmetric(rows) if mirrored else product(rows, self.part(j))

    def widen(self, tile: Tensor, i: int, j: int) -> np.ndarray:
        """Compute the similarities of the ranked rows from those of the embeddings."""
        return tile.numpy()

    def narrow(self, gradient: np.ndarray, i: int, j: int) -> Tensor:
        """Compute the gradient of the embeddings' similarities from that of the ranked rows."""
        return torch.from_numpy(gradient)

    def spread(self, of_tile: Tensor, i: int, j: int, gradient: Tensor) -> None:
        """Add a tile's gradient to that of its rows, [n d], which is in the order of the layout."""
        of_i, of_j = (gradient[self.edges[t] : self.edges[t + 1]] for t in (i, j))
        if i == j:
            transpose.fold(of_tile.numpy())
            add_product(of_i, of_tile, self.part(i))
        else:
            add_product(of_i, of_tile, self.part(j))
            add_product(of_j, of_tile.T, self.part(i))

    def gradient_of_whole(self, of_tile: np.ndarray) -> Tensor:
        """Compute the gradient of the rows, [n d], from that of the single tile."""
        transpose.fold(of_tile)
        return product(torch.from_numpy(of_tile), self.part(0).T)

    def spread_pairs(
        self, first: np.ndarray, second: np.ndarray, weights: np.ndarray, gradient: Tensor
    ) -> None:
        """Add the gradient of single similarities to that of their rows."""
        numba_tiles.spread_pairs(
            first, second, weights, self.row_at, self.rows.numpy(), gradient.numpy()
        )

    def in_given_order(self, gradient: Tensor) -> Tensor:
        """Move the rows of a gradient to the caller's order, in place."""
        if not self.sorted:
            numba_tiles.scatter_rows(gradient.numpy(), self.order)
        return gradient


class MixedTiles(Tiles):
    """Tiles of originals and their mixtures; similarities of mixtures are mixed inside the tile of their parents.

    A class is always within one tile, so both parents of a mixture are in its tile.
    """

    listable = False

    def __init__(self, rows: Tensor, mixture: Mixture, layout: Layout):
        n = len(rows)
        self.take(rows, layout.order[layout.order < n])
        self.edges, self.ranked_edges = _cut(layout, n)
        place = np.empty(n, np.int64)
        place[layout.order[layout.order < n]] = np.arange(n)
        x, z = mixture.parents.numpy().T
        first = place[np.concatenate([np.arange(n), x])[layout.order]]
        second = place[np.concatenate([np.arange(n), z])[layout.order]]
        alpha = np.concatenate([np.ones(n, np.float32), mixture.alpha.numpy()])[layout.order]
        self.parents = [
            (first[a:b] - start, second[a:b] - start, alpha[a:b])
            for start, a, b in zip(
                self.edges[:-1], self.ranked_edges[:-1], self.ranked_edges[1:], strict=True
            )
        ]
        self.first = first
        self.second = second
        self.alpha = alpha

    def widen(self, tile: Tensor, i: int, j: int) -> np.ndarray:
        rows = self.parents[i]
        columns = self.parents[j]
        half = np.empty((len(tile), len(columns[0])), np.float32)
        mixed = np.empty((len(rows[0]), len(columns[0])), np.float32)
        numba_tiles.mix(tile.numpy(), *rows, *columns, half, mixed)
        return mixed

    def narrow(self, gradient: np.ndarray, i: int, j: int) -> Tensor:
        """Add columns as rows of the transpose, because adding single numbers takes longer than transposing."""
        half = torch.empty(self.edges[i + 1] - self.edges[i], gradient.shape[1])
        numba_tiles.unmix_rows(gradient, *self.parents[i], half.numpy())
        tile = torch.empty(self.edges[j + 1] - self.edges[j], len(half))
        numba_tiles.unmix_rows(transpose.transposed(half.numpy()), *self.parents[j], tile.numpy())
        return torch.from_numpy(transpose.transposed(tile.numpy()))

    def spread_pairs(
        self, first: np.ndarray, second: np.ndarray, weights: np.ndarray, gradient: Tensor
    ) -> None:
        for a, of_a in ((self.first, self.alpha), (self.second, 1 - self.alpha)):
            for b, of_b in ((self.first, self.alpha), (self.second, 1 - self.alpha)):
                share = weights * of_a[first] * of_b[second]
                some = share != 0
                super().spread_pairs(a[first][some], b[second][some], share[some], gradient)


class GradientBuffer:
    """The gradient of the rows, [n d]; its memory stores tiles until backward writes to it.

    A tile lies in the block of rows to which backward, taking tiles in the order of `places`, adds nothing before that
    tile's own gradient, if it fits in there; by then it has been read.
    """

    def __init__(self, tiles: Tiles, places: Sequence[tuple[int, int]]):
        self.rows = tiles.rows
        self.edges = tiles.edges
        heights = [last - first for first, last in pairwise(self.edges)]
        width = self.rows.shape[1]
        self.block_of: dict[tuple[int, int], int] = {}
        untouched = set(range(len(heights)))
        for i, j in places:
            first_touched = max(untouched.intersection((i, j)), default=None)
            if (
                first_touched is not None
                and heights[first_touched] * width >= heights[i] * heights[j]
            ):
                self.block_of[i, j] = first_touched
            untouched.difference_update((i, j))
        self.lent: set[tuple[int, int]] = set()

    @cached_property
    def whole(self) -> Tensor:
        """All of it; made when the first tile is kept, or in `begin`, so that it takes no memory before it serves."""
        return torch.empty_like(self.rows)

    def _block(self, number: int) -> Tensor:
        return self.whole[self.edges[number] : self.edges[number + 1]]

    def keep(self, place: tuple[int, int], tile: Tensor) -> Tensor | None:
        """Copy a tile to the gradient's memory; return None if there is no room for it."""
        if place not in self.block_of:
            return None
        self.lent.add(place)
        return (
            self._block(self.block_of[place]).view(-1)[: tile.numel()].view(tile.shape).copy_(tile)
        )

    def begin(self) -> Tensor:
        """Return the gradient, zero except where tiles are stored."""
        lent = {self.block_of[place] for place in self.lent}
        for number in range(len(self.edges) - 1):
            if number not in lent:
                self._block(number).zero_()
        return self.whole

    def give_back(self, place: tuple[int, int]) -> None:
        """Set the memory of a tile that has been read to zero."""
        if place in self.lent:
            self._block(self.block_of[place]).zero_()


def symmetric(rows: Tensor) -> Tensor:
    """Compute the similarities of rows with themselves, [n n]: one half is multiplied, the other mirrored."""
    whole = rows.new_empty(len(rows), len(rows))
    for start in range(0, len(rows), STRIP):
        transpose.mirror(
            product(rows[start : start + STRIP], rows[start:]).numpy(), start, whole.numpy()
        )
    return whole


def _cut(layout: Layout, n: int) -> tuple[list[int], list[int]]:
    """Where tiles begin and end among the originals and among all ranked rows: whole classes of some 128 originals."""
    class_ends = np.flatnonzero(np.diff(layout.lowest, append=-1)) + 1
    originals = np.cumsum(layout.order < n)[class_ends - 1]
    edges = [0]
    ranked_edges = [0]
    for count, end in zip(originals.tolist(), class_ends.tolist(), strict=True):
        if count - edges[-1] >= MIXED_TILE or end == class_ends[-1]:
            edges.append(count)
            ranked_edges.append(end)
    return edges, ranked_edges


def mixes_by_class(n: int, mixture: Mixture, positives: Tensor) -> bool:
    """Whether mixtures stay within classes that the loop can keep whole: complete, and not too large."""
    layout = Layout(positives.numpy(), n + len(mixture.parents))
    class_of = layout.lowest[layout.place]
    x, z = mixture.parents.numpy().T
    virtual = class_of[n:]
    alike = (class_of[x] == virtual).all() and (class_of[z] == virtual).all()
    complete = (layout.counts == layout.counts[layout.place[layout.lowest]]).all()
    return bool(alike and complete and np.bincount(class_of).max() <= WIDEST_CLASS)
