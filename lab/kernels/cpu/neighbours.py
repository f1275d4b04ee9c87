"""Contextual similarity on the CPU by compiled loops; `lab.kernels.contextual` computes the same with scipy.

The scan computes one triangle of tiles and reads each tile for its rows and for its columns. A row's k-th neighbour is
known only after the last tile. So each tile lists its neighbours by the k-th nearest so far, and at the end the lists
are filtered by the final k-th. With several processes each one lists its own tiles; the lists are filtered by the k-th
nearest of all processes and joined. After that all processes compute the same, except for the gradient of the masks, of
which each computes some rows.

Only the masks, W, V and the errors are stored. The gradient of the masks has many more entries, so it is multiplied by
the embeddings block by block. A product of two sparse matrices is never formed: its factors are multiplied by the
embeddings from the right, one after the other.
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
"""Largest mean length of a row's list of possible neighbours, 12 bytes each; collapsed embeddings exceed it."""


def scan(
    rows: Tensor, k: int, half: int, eps: float, margin: float
) -> tuple[tuple[np.ndarray, ...], ...] | None:
    """List the neighbours of every row, and the similarities over the margin; return None if there are too many.

    Returns rows and items of mask A (k neighbours), of mask B (half of them), and rows, items and excess of the
    similarities over the margin.
    """
    share = sharing.current()
    n = len(rows)
    dtype = rows.numpy().dtype
    height = ranked.LARGE_TILE if share.world == 1 else ranked.TILE
    tiles = ranked.Tiles(rows, np.arange(n), height)
    eps = dtype.type(eps)
    margin = dtype.type(margin)

    # The k smallest distances of each row so far, and the limit below which a similarity need not be listed.
    nearest = np.full((n, k), compiled.FAR, dtype)
    least = np.full(n, -compiled.FAR, dtype)

    # The lists have room for the tile that exceeds the limit; memory is used only where it is written.
    most = MOST_LISTED * n
    room = most + 2 * min(n, height) ** 2
    row = np.empty(room, np.int32)
    item = np.empty(room, np.int32)
    similarity = np.empty(room, dtype)
    count = 0

    def product(place: tuple[int, int]) -> np.ndarray | None:
        """Compute the similarities of one tile, unless the lists are too long already."""
        return tiles.product(*place).numpy() if count <= most else None

    def list_neighbours(place: tuple[int, int], tile: np.ndarray | None) -> None:
        nonlocal count
        if tile is None or count > most:
            return
        i, j = place
        count = compiled.list_tile(
            tile,
            tiles.edges[i],
            tiles.edges[j],
            i != j,
            eps,
            margin,
            nearest,
            least,
            count,
            row,
            item,
            similarity,
        )

    # The tiles of the diagonal come first: after them every row has k neighbours, and later lists stay short.
    places = share.places(sorted(tiles.places(), key=lambda place: place[1] - place[0]))
    threads.in_turns(places, product, lambda *_: None, settle=list_neighbours)
    if int(share.largest(torch.tensor([count]))) > most:
        return None

    nearest = _nearest_of_all(nearest, share)
    near, nearer, over, excess = compiled.settle(
        row[:count], item[:count], similarity[:count], nearest, half, eps, margin
    )
    return _joined(near, share), _joined(nearer, share), _joined((*over, excess), share)


def _nearest_of_all(nearest: np.ndarray, share: sharing.Share) -> np.ndarray:
    """Return each row's k smallest distances over all processes, [n k]."""
    if share.world == 1:
        return nearest
    of_processes = share.join(torch.from_numpy(nearest), [len(nearest)] * share.world).numpy()
    side_by_side = np.hstack(np.split(of_processes, share.world))
    return np.sort(side_by_side, axis=1)[:, : nearest.shape[1]]


def _joined(
    columns: Sequence[np.ndarray] | np.ndarray, share: sharing.Share
) -> tuple[np.ndarray, ...]:
    """Concatenate the lists of all processes, by rank."""
    if share.world == 1:
        return tuple(columns)
    local = []
    for column in columns:
        # collectives take no uint32
        signed = column.view(np.int32) if column.dtype == np.uint32 else column
        local.append(torch.from_numpy(signed))
    sizes = gathering.sizes_of_all(local[0])
    joined = [share.join(column, sizes).numpy() for column in local]
    return tuple(
        numbers.view(column.dtype) for numbers, column in zip(joined, columns, strict=True)
    )


BLOCK_BYTES = 2 << 20
"""Size of one block of the masks' gradient."""

DENSE = 2 / 5
"""Share of entries above which a block is multiplied as a dense matrix."""


class Mask:
    """A sparse matrix of ones, by rows (starts, items) and by columns (starts_t, items_t).

    row: the row of each entry, sorted. order_t: position, among the entries by row, of each entry by column.
    """

    def __init__(self, row: np.ndarray, item: np.ndarray, n: int):
        self.starts, order = compiled.grouped(row, n)
        self.row = row[order]
        self.items = item[order]
        self.starts_t, self.order_t = compiled.grouped(self.items, n)
        self.items_t = self.row[self.order_t]

    @property
    def both(self) -> tuple[np.ndarray, ...]:
        """The entries by rows and by columns."""
        return self.starts, self.items, self.starts_t, self.items_t


class CompiledContext:
    """Contextual similarity of one batch, its squared errors `wrong` [n], and their gradient.

    The names of the matrices are those of `lab.kernels.contextual`: `near` is A, `nearer` is B, `close` is C.
    """

    def __init__(
        self, near: tuple[np.ndarray, ...], nearer: tuple[np.ndarray, ...], labels: np.ndarray
    ):
        n = len(labels)
        self.share = sharing.current()
        self.near = Mask(near[0], near[1], n)
        self.nearer = Mask(nearer[0], nearer[1], n)

        # W: the agreement of each pair of neighbours, from shared neighbours and shared strangers.
        size = np.diff(self.near.starts)
        self.of_shared = 0.5 / np.maximum(size, 1)
        self.of_strangers = 0.5 / np.maximum(n - size, 1)
        self.of_pairs = compiled.agreements(
            self.near.starts, self.near.items, self.of_shared, self.of_strangers
        )

        # V: the mean of W over the close reciprocal neighbours.
        self.close = compiled.mutual(*self.nearer.both)
        count = np.diff(self.close[0])
        self.of_close = 1 / np.maximum(count, 1)
        self.has_close = (count > 0).astype(np.float64)
        starts, items, values = compiled.averaged(
            *self.close, self.near.starts, self.near.items, self.of_pairs, self.of_close
        )

        # The errors of w = (V + V') / 2 against equality of labels.
        averaged = Mask(np.repeat(np.arange(n, dtype=items.dtype), np.diff(starts)), items, n)
        _, label = np.unique(labels, return_inverse=True)
        label_starts, label_order = compiled.grouped(label, int(label.max()) + 1)
        *self.errors, self.wrong = compiled.compare(
            starts,
            items,
            values,
            averaged.starts_t,
            averaged.items_t,
            values[averaged.order_t],
            label,
            label_starts,
            label_order,
        )

    def gradient(self, rows: Tensor, alpha: float, of_wrong: np.ndarray) -> Tensor:
        """Compute the gradient of the rows, [n d], from the gradient of `wrong`, [n]."""
        near = self.near
        n, d = rows.shape
        # a mask's slope in the distance is -alpha, and the distance's in the similarity is -2
        scale = 2 * alpha
        of_errors, of_nearer = self._through_lists(of_wrong, rows.numpy().dtype)

        panels = numba_panels.panels(rows)
        gradient = torch.zeros(n, numba_panels.padded(d), dtype=rows.dtype)
        of_m = self._through_masks(rows, panels, scale, of_errors, of_nearer, gradient)
        weights = scale * of_m * (self.of_shared + self.of_strangers)[near.row]
        self._through_neighbours(weights.astype(panels.dtype), panels, gradient.numpy())
        gradient = self.share.part_of_mean(gradient[:, :d].contiguous())

        # The part of the strangers, 1 - A, is constant along each row.
        of_entries = scale * of_m * self.of_strangers[near.row]
        of_row = -(np.bincount(near.row, of_entries, n) + np.bincount(near.items, of_entries, n))
        to_row = torch.from_numpy(of_row).to(rows)
        return gradient.addr_(to_row, rows.sum(0)).add_(to_row @ rows)

    def _through_neighbours(
        self, weights: np.ndarray, panels: np.ndarray, gradient: np.ndarray
    ) -> None:
        """Add the gradient that A receives through the product A A' in M.

        If R is the symmetric gradient of M, the gradient of A is R A, and the rows X receive (R A + A' R) X.

        weights: one half of R, on A's entries; the other half is its transpose.
        """
        near = self.near
        ones = np.ones_like(weights)
        transposed = weights[near.order_t]

        def add_panel(number: int) -> None:
            """Add the gradient of some columns of the rows."""
            panel = panels[number]
            column = number * numba_panels.PANEL
            between = np.zeros_like(panel)
            # R (A X)
            numba_panels.add_product(near.starts, near.items, ones, panel, between, 0)
            numba_panels.add_product(near.starts, near.items, weights, between, gradient, column)
            numba_panels.add_product(
                near.starts_t, near.items_t, transposed, between, gradient, column
            )
            # A' (R X)
            between[:] = 0
            numba_panels.add_product(near.starts, near.items, weights, panel, between, 0)
            numba_panels.add_product(near.starts_t, near.items_t, transposed, panel, between, 0)
            numba_panels.add_product(near.starts_t, near.items_t, ones, between, gradient, column)

        threads.each(self.share.places(range(len(panels))), add_panel)

    def _through_lists(
        self, of_wrong: np.ndarray, dtype: np.dtype
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the gradient of V at the entries of the errors, and of B's entries in both directions."""
        starts, items, errors, beside = self.errors
        of_errors = -errors * (np.repeat(of_wrong, np.diff(starts)) + of_wrong[items])
        of_nearer = compiled.through_close(
            of_errors,
            self.near.starts,
            self.near.items,
            self.of_pairs,
            *self.nearer.both,
            self.nearer.order_t,
            self.of_close,
            self.has_close,
            starts,
            items,
            beside,
        )
        return of_errors.astype(dtype), of_nearer.astype(dtype)

    def _through_masks(
        self,
        rows: Tensor,
        panels: np.ndarray,
        scale: float,
        of_errors: np.ndarray,
        of_nearer: np.ndarray,
        gradient: Tensor,
    ) -> np.ndarray:
        """Add the gradient that the masks receive as factors of W and of C; return the gradient of M on A's entries."""
        near = self.near
        nearer = self.nearer
        n = len(rows)
        dtype = panels.dtype
        starts, items, _, _ = self.errors
        of_shared = self.of_shared.astype(dtype)
        of_strangers = self.of_strangers.astype(dtype)
        of_close = self.of_close.astype(dtype)
        of_m = np.zeros(len(near.items))
        height = min(n, max(1, BLOCK_BYTES // dtype.itemsize // n))
        blocks = threading.local()  # one block of memory per thread, used again and again

        def add_rows(first: int) -> None:
            """Compute the masks' gradient for `height` rows, and multiply it by the embeddings."""
            memory = blocks.__dict__.get("block")
            if memory is None:
                memory = torch.empty(height, n, dtype=rows.dtype)
                blocks.block = memory
            block = memory[: n - first]
            of_block = gradient[first : first + height]
            count = compiled.mask_gradients(
                first,
                of_errors,
                starts,
                items,
                *near.both,
                of_shared,
                of_strangers,
                *self.close,
                of_close,
                of_nearer,
                *nearer.both,
                nearer.order_t,
                dtype.type(scale),
                block.numpy(),
                of_m,
            )
            if count > DENSE * block.numel():
                add_product(of_block[:, : rows.shape[1]], block, rows)
            else:
                numba_panels.add_block(block.numpy(), count, panels, of_block.numpy())

        threads.each(self.share.places(range(0, n, height)), add_rows)
        return self.share.sum(torch.from_numpy(of_m))[0].numpy()


def warm_up() -> None:
    """Compare four rows, to find out whether this machine can compile the loops."""
    rows = torch.eye(4)
    with sharing.among(sharing.ALONE):  # the other processes may have done this before
        scanned: Any = scan(rows, 2, 1, 0.0, 0.5)  # four rows are never too many
        near, nearer, _ = scanned
        context = CompiledContext(near, nearer, np.array([0, 0, 1, 1]))
    context.gradient(rows, 1.0, context.wrong)
    numba_panels.add_block(
        rows.numpy(), 4, numba_panels.panels(rows), np.zeros((4, numba_panels.PANEL), np.float32)
    )
