"""Contextual similarity on the CPU with compiled loops: what `contextual` beside this does with scipy's.

The scan looks at one tile of the triangle from both of its sides. Since a row's k-th neighbour is known only in the
end, a tile is listed by the k-th so far, and the lists are looked through again. Of several processes each lists its
own tiles by the k-th that it has seen; the lists that are left by the k-th of all are put together. What follows is
the same in all of them, up to the entries of the masks' gradient, of which each has its own rows.

Nothing but masks, W, V and the errors is stored. The gradient of the masks, which has many more entries, goes to the
rows as soon as it is known, and a product of two sparse matrices is multiplied by the rows from the right, one after
the other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.core import threads
from lab.kernels import gathering, sharing
from lab.kernels.cpu import numba_panels
from lab.kernels.cpu import numba_rows as compiled
from lab.kernels.cpu import tiles as ranked
from lab.kernels.cpu.products import add_product

MOST_LISTED = 256
"""Mean length of a row's list of what may be near, 12 bytes each; embeddings that fill it have collapsed."""


def scan(rows: Tensor, k: int, half: int, eps: float, margin: float) -> tuple[tuple[np.ndarray, ...], ...] | None:
    """Rows and items of both masks, and rows, items and excess of similarities over the margin; None if too many."""
    share, n, numbers = sharing.current(), len(rows), rows.numpy().dtype
    height = ranked.LARGE_TILE if share.world == 1 else ranked.TILE
    tiles = ranked.Tiles(rows, np.arange(n), height)
    eps, margin = numbers.type(eps), numbers.type(margin)
    nearest, least = np.full((n, k), compiled.FAR, numbers), np.full(n, -compiled.FAR, numbers)
    most, count = MOST_LISTED * n, 0
    room = most + 2 * min(n, height) ** 2  # only what is written to takes memory
    row, item, similarity = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, numbers)

    def product(place: tuple[int, int]) -> np.ndarray | None:
        return tiles.product(*place).numpy() if count <= most else None

    def look(place: tuple[int, int], tile: np.ndarray | None) -> None:
        nonlocal count
        if tile is not None and count <= most:
            i, j = place
            count = compiled.list_tile(
                tile, tiles.edges[i], tiles.edges[j], i != j, eps, margin, nearest, least, count, row, item, similarity
            )

    # The tiles of the diagonal come first: they show every row enough others to be choosy from then on.
    places = share.places(sorted(tiles.places(), key=lambda place: place[1] - place[0]))
    threads.in_turns(places, product, lambda *_: None, settle=look)
    if int(share.largest(torch.tensor([count]))) > most:
        return None
    nearest = _nearest_of_all(nearest, share)
    near, nearer, over, excess = compiled.settle(
        row[:count], item[:count], similarity[:count], nearest, half, eps, margin
    )
    return _joined(near, share), _joined(nearer, share), _joined((*over, excess), share)


def _nearest_of_all(nearest: np.ndarray, share: sharing.Share) -> np.ndarray:
    """Each row's k smallest distances, [n k], of those that the processes have seen."""
    if share.world == 1:
        return nearest
    seen = share.join(torch.from_numpy(nearest), [len(nearest)] * share.world).numpy()
    return np.sort(np.hstack(np.split(seen, share.world)), axis=1)[:, : nearest.shape[1]]


def _joined(columns: Sequence[np.ndarray] | np.ndarray, share: sharing.Share) -> tuple[np.ndarray, ...]:
    """The lists of all processes, by rank, one behind the other."""
    if share.world == 1:
        return tuple(columns)
    local = [torch.from_numpy(one.view(np.int32) if one.dtype == np.uint32 else one) for one in columns]
    sizes = gathering.sizes_of_all(local[0])
    return tuple(share.join(one, sizes).numpy().view(of.dtype) for one, of in zip(local, columns, strict=True))


BLOCK_BYTES = 2 << 20
"""Size of one block of the masks' gradient."""

DENSE = 2 / 5
"""Share of entries above which a block is multiplied as a whole."""


class Mask:
    """A sparse matrix of ones by rows and by columns: row i's items, and the rows of column i."""

    def __init__(self, row: np.ndarray, item: np.ndarray, n: int):
        self.starts, order = compiled.grouped(row, n)
        self.row, self.items = row[order], item[order]
        self.starts_t, self.order_t = compiled.grouped(self.items, n)
        self.items_t = self.row[self.order_t]

    @property
    def both(self) -> tuple[np.ndarray, ...]:
        return self.starts, self.items, self.starts_t, self.items_t


class CompiledContext:
    """Contextual similarity of one batch, its squared errors `wrong` [n], and their gradient."""

    def __init__(self, near: tuple[np.ndarray, ...], nearer: tuple[np.ndarray, ...], labels: np.ndarray):
        n, self.share = len(labels), sharing.current()
        self.near, self.nearer = Mask(near[0], near[1], n), Mask(nearer[0], nearer[1], n)
        size = np.diff(self.near.starts)
        self.of_shared, self.of_strangers = 0.5 / np.maximum(size, 1), 0.5 / np.maximum(n - size, 1)
        self.of_pairs = compiled.agreements(self.near.starts, self.near.items, self.of_shared, self.of_strangers)
        self.close = compiled.mutual(*self.nearer.both)
        count = np.diff(self.close[0])
        self.of_close, self.has_close = 1 / np.maximum(count, 1), (count > 0).astype(np.float64)
        starts, items, values = compiled.averaged(
            *self.close, self.near.starts, self.near.items, self.of_pairs, self.of_close
        )
        averaged = Mask(np.repeat(np.arange(n, dtype=items.dtype), np.diff(starts)), items, n)
        _, label = np.unique(labels, return_inverse=True)
        *self.errors, self.wrong = compiled.compare(
            starts, items, values, averaged.starts_t, averaged.items_t, values[averaged.order_t],
            label, *compiled.grouped(label, int(label.max()) + 1),
        )  # fmt: skip

    def gradient(self, rows: Tensor, alpha: float, of_wrong: np.ndarray) -> Tensor:
        """Gradient of the rows, [n d], from that of `wrong`, [n]."""
        near, (n, d) = self.near, rows.shape
        scale = 2 * alpha  # a mask's slope in the distance is -alpha, and the distance's in the similarity -2
        of_lists = self._through_lists(of_wrong, rows.numpy().dtype)
        gradient, panels = torch.zeros(n, numba_panels.padded(d), dtype=rows.dtype), numba_panels.panels(rows)
        of_m = self._through_masks(rows, panels, scale, *of_lists, gradient)
        weights = scale * of_m * (self.of_shared + self.of_strangers)[near.row]
        self._through_neighbours(weights.astype(panels.dtype), panels, gradient.numpy())
        gradient = self.share.part_of_mean(gradient[:, :d].contiguous())

        # The strangers, 1 - A: constant along each row.
        strange = scale * of_m * self.of_strangers[near.row]
        of_row = -(np.bincount(near.row, strange, n) + np.bincount(near.items, strange, n))
        to_row = torch.from_numpy(of_row).to(rows)
        return gradient.addr_(to_row, rows.sum(0)).add_(to_row @ rows)

    def _through_neighbours(self, weights: np.ndarray, panels: np.ndarray, gradient: np.ndarray) -> None:
        """Add what A gets through M = .. A A' ..: of M's gradient R, symmetric, A gets R A, the rows (R A + A' R) X.

        weights: one half of R, on A's entries; the other is its mirror image.
        """
        near, ones, turned = self.near, np.ones_like(weights), weights[self.near.order_t]

        def through(at: int) -> None:
            panel, column = panels[at], at * numba_panels.PANEL
            between = np.zeros_like(panel)
            numba_panels.add_product(near.starts, near.items, ones, panel, between, 0)
            numba_panels.add_product(near.starts, near.items, weights, between, gradient, column)
            numba_panels.add_product(near.starts_t, near.items_t, turned, between, gradient, column)
            between[:] = 0
            numba_panels.add_product(near.starts, near.items, weights, panel, between, 0)
            numba_panels.add_product(near.starts_t, near.items_t, turned, panel, between, 0)
            numba_panels.add_product(near.starts_t, near.items_t, ones, between, gradient, column)

        threads.each(self.share.places(range(len(panels))), through)

    def _through_lists(self, of_wrong: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of V at the errors' entries, and of both ways of B's entries."""
        starts, items, errors, beside = self.errors
        of_errors = -errors * (np.repeat(of_wrong, np.diff(starts)) + of_wrong[items])
        of_nearer = compiled.through_close(
            of_errors, self.near.starts, self.near.items, self.of_pairs, *self.nearer.both, self.nearer.order_t,
            self.of_close, self.has_close, starts, items, beside,
        )  # fmt: skip
        return of_errors.astype(kind), of_nearer.astype(kind)

    def _through_masks(
        self, rows: Tensor, panels: np.ndarray, scale: float, of_errors: np.ndarray, of_nearer: np.ndarray,
        gradient: Tensor,
    ) -> np.ndarray:  # fmt: skip
        """Add what the masks pass on where they stand themselves, in W and in C; the gradient of M on A's entries."""
        near, nearer, n, kind = self.near, (*self.nearer.both, self.nearer.order_t), len(rows), panels.dtype
        starts, items, _, _ = self.errors
        of_shared, of_strangers, of_close = (
            part.astype(kind) for part in (self.of_shared, self.of_strangers, self.of_close)
        )
        of_m = np.zeros(len(near.items))
        height, blocks = min(n, max(1, BLOCK_BYTES // kind.itemsize // n)), threading.local()

        def take(first: int) -> None:
            block = blocks.__dict__.get("block")
            if block is None:
                block = blocks.block = torch.empty(height, n, dtype=rows.dtype)
            some, of_some = block[: n - first], gradient[first : first + height]
            count = compiled.mask_gradients(
                first, of_errors, starts, items, *near.both, of_shared, of_strangers, *self.close, of_close, of_nearer,
                *nearer, kind.type(scale), some.numpy(), of_m,
            )  # fmt: skip
            if count > DENSE * some.numel():
                add_product(of_some[:, : rows.shape[1]], some, rows)
            else:
                numba_panels.add_block(some.numpy(), count, panels, of_some.numpy())

        threads.each(self.share.places(range(0, n, height)), take)
        return self.share.sum(torch.from_numpy(of_m))[0].numpy()


def warm_up() -> None:
    """Compare four rows, to learn whether this machine can compile the loops."""
    rows = torch.eye(4)
    with sharing.among(sharing.ALONE):  # the others may have learnt it before
        listed: Any = scan(rows, 2, 1, 0.0, 0.5)  # four rows are never too many
        near, nearer, _ = listed
        context = CompiledContext(near, nearer, np.array([0, 0, 1, 1]))
    context.gradient(rows, 1.0, context.wrong)
    numba_panels.add_block(rows.numpy(), 4, numba_panels.panels(rows), np.zeros((4, numba_panels.PANEL), np.float32))
