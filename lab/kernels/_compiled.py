"""Rank sums on the CPU with compiled tiles: one tile of the similarity matrix serves both of its sides.

Forward walks the upper triangle of tiles and backward walks it again, 4 n^2 d operations in all, against 6 n^2 d of a
product and its two backward products. Two things make it less: tiles are kept while a small budget lasts, and a tile
with few living gradients is kept as a list of them, so that backward needs none of its three products.

What is left out: a gap below -cut counts as zero, and one outside +-cut has no gradient, where
cut = tau (ln r + 23 ln 2) for r ranked items. A sigmoid beyond the cut is below 2^-23 / r, so a rank sum errs by less
than 2^-23, and its gradient with respect to all similarities together by less than 2^-23 / tau.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lab.kernels import _numba
from lab.kernels._layout import NEVER, Layout, Mixture, reach, shape_of
from lab.kernels._products import add_product, product
from lab.surrogates import HMinus, Sigmoid

if TYPE_CHECKING:
    from lab.surrogates import Surrogate

TILE = 256
"""Rows of a tile: 256 KB of similarities and as much of gradient, half of a common L2 cache."""

MIXED_TILE = 128
"""Originals of a tile with mixtures; four samples a class make 320 ranked rows of them."""

WIDEST_CLASS = 2048
"""Ranked rows of the largest class that mixtures may have here: its tile takes 16 MB, twice."""

KEPT_BYTES = 11 << 20
"""Budget for tiles that forward keeps for backward."""

HELD_BYTES = 8 << 20
"""Budget for rows that are held in the order of the layout."""

LISTED_BYTES = 64 << 20
"""Budget for lists of living entries, 8 bytes each."""

SPARSE = 0.08
"""Share of living entries below which a list beats the tile's products."""

MASKED = -1e30
"""Similarity of what is not ranked."""


class Walk:
    """One batch ranked among itself: `forward`, then `backward` as often as wanted."""

    def __init__(
        self,
        rows: Tensor,
        mixture: Mixture | None,
        positives: Tensor,
        step: Surrogate | None,
        exclude_self: bool,
        against: bool,
        margin: float | None,
    ):
        self.margin = np.float32(NEVER if margin is None else margin)
        self.step, self.shape, self.exclude_self, self.against = step, shape_of(step), exclude_self, against
        ranked = len(rows) + (0 if mixture is None else len(mixture.parents))
        self.layout = Layout(positives.numpy(), ranked)
        self.tiles = Tiles(rows, self.layout.order) if mixture is None else MixedTiles(rows, mixture, self.layout)
        self.pairs_of_tile = self._pairs_by_tile()
        self.kept: dict[tuple[int, int], Tensor] = {}
        self.listed: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.living: dict[tuple[int, int], tuple[int, np.ndarray, np.ndarray]] = {}
        self.room, self.list_room, self.sparse = KEPT_BYTES, LISTED_BYTES, SPARSE

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Rank sums [p], excess [n] and violations [n]; `keep` when a backward will follow."""
        self._sort_slots(self._own_similarities(keep))
        low, high = self.layout.spans(self.own)
        self._prepare()
        below, above = reach(self.step, self.layout.order.size)
        self.reach = -np.float32(below)
        self.low, self.high = low + np.float32(below), np.minimum(high + np.float32(above), np.float32(-MASKED))
        sums = np.zeros(len(self.own))
        excess, violations = np.zeros((2, self.layout.order.size))
        for i, j in self.tiles.places():
            tile, ranked = self._tile(i, j)
            active, top, column_alive = self.living[i, j] = self._survey(ranked, i, j)
            rows = slice(self.tiles.ranked_edges[i], self.tiles.ranked_edges[i + 1])
            if (top >= self.low[rows]).any() or column_alive.any():
                _numba.add_values(
                    ranked, *self._corner(i, j), self.own, self.power, self.exponent, self.centre, self.layout.base,
                    self.layout.counts, top, column_alive, self.reach, i != j, sums, self.shape, *self.kind,
                )  # fmt: skip
            if self.margin < NEVER:
                _numba.add_excess(ranked, *self._corner(i, j), self.margin, i != j, excess, violations)
            if keep:
                self._keep(i, j, tile, ranked, active)
        if not self.against:
            at_tie = 0.0 if self.step is None else float(self.step.value(torch.zeros(1)))
            itself = (self.layout.first == self.layout.second) & self.exclude_self
            sums -= np.where(itself, 0, at_tie)
        place = self.layout.place
        return tuple(torch.from_numpy(x).float() for x in (sums[self.layout.slots], excess[place], violations[place]))

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, None]:
        """Gradient of the rows, [n d], from those of the sums, [p], and of the excess, [n]; none of other items."""
        layout, tiles = self.layout, self.tiles
        in_slots = np.empty(len(self.own), np.float32)
        in_slots[layout.slots] = weights.numpy()
        of_excess = excess_weights.numpy()[layout.order]
        totals = np.zeros(len(self.own))
        gradient = torch.zeros_like(tiles.rows)
        for i, j in self.tiles.places():
            if (i, j) in self.listed:
                places, similarities = self.listed[i, j]
                columns = tiles.ranked_edges[j + 1] - tiles.ranked_edges[j]
                _numba.spread_listed(
                    places, similarities, columns, *self._corner(i, j), self.own, in_slots, layout.base, layout.counts,
                    self.margin, of_excess, i != j, totals, self.shape, tiles.order, tiles.rows.numpy(),
                    gradient.numpy(), self.kind[0],
                )  # fmt: skip
                continue
            active, top, column_alive = self.living[i, j]
            if active:
                _, ranked = self._tile(i, j)
                of_tile = np.empty_like(ranked)
                _numba.add_slopes(
                    ranked, of_tile, *self._corner(i, j), self.own, self.power, self.exponent, self.centre,
                    in_slots, layout.base, layout.counts, top, column_alive, self.reach, i != j, totals, self.shape,
                    *self.kind,
                )  # fmt: skip
                if self.margin < NEVER:
                    _numba.add_excess_slopes(ranked, of_tile, *self._corner(i, j), self.margin, i != j, of_excess)
                tiles.spread(tiles.narrow(of_tile, i, j), i, j, gradient)
        tiles.spread_pairs(layout.first, layout.second, -totals, gradient)
        return tiles.in_given_order(gradient), None

    def _prepare(self) -> None:
        """A centre, and each positive's factor 2^(scale (t - centre)) as power and exponent."""
        self.centre = (self.own.min() + self.own.max()) / 2
        factor = (self.own - self.centre) * self.shape.scale
        narrow = bool(np.abs(factor).max() <= _numba.NARROW)
        whole = np.zeros_like(factor) if narrow else np.rint(factor)
        self.power, self.exponent = np.exp2(factor - whole), whole.astype(np.int32)
        self.kind = (True if self.shape.delta < NEVER else None), (True if narrow else None)

    def _corner(self, i: int, j: int) -> tuple[int, int]:
        return self.tiles.ranked_edges[i], self.tiles.ranked_edges[j]

    def _pairs_by_tile(self) -> dict[tuple[int, int], np.ndarray]:
        """Slots of the pairs whose similarity lies in each tile of the triangle."""
        edges, count = self.tiles.ranked_edges, len(self.tiles.edges) - 1
        i = np.searchsorted(edges, self.layout.first, side="right") - 1
        j = np.searchsorted(edges, self.layout.second, side="right") - 1
        code = np.minimum(i, j) * count + np.maximum(i, j)
        by_tile = np.argsort(code, kind="stable")
        found, starts = np.unique(code[by_tile], return_index=True)
        slots = np.split(by_tile, starts[1:])
        return {(int(c) // count, int(c) % count): s for c, s in zip(found, slots, strict=True)}

    def _in_tile(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slots of the pairs in a tile, and where in it they are."""
        slots = self.pairs_of_tile[i, j]
        a, b = self.layout.first[slots], self.layout.second[slots]
        turned = (a >= self.tiles.ranked_edges[i + 1]) | (b < self.tiles.ranked_edges[j])
        corner = self._corner(i, j)
        return slots, np.where(turned, b, a) - corner[0], np.where(turned, a, b) - corner[1]

    def _own_similarities(self, keep: bool) -> np.ndarray:
        """Each positive's similarity, by slot, read from the very tile it is compared in, so that equal rows tie."""
        own = np.empty(len(self.layout.first), np.float32)
        for i, j in self.pairs_of_tile:
            tile = self.tiles.product(i, j)
            slots, a, b = self._in_tile(i, j)
            own[slots] = self.tiles.widen(tile, i, j)[a, b]
            if keep and self.room >= tile.nbytes:
                self.kept[i, j] = tile
                self.room -= tile.nbytes
        return own

    def _sort_slots(self, own: np.ndarray) -> None:
        """Let each row's similarities ascend along its slots, so that those out of reach are the last."""
        moved = self.layout.sort_slots(own)
        self.own = np.empty_like(own)
        self.own[moved] = own
        self.pairs_of_tile = {place: moved[slots] for place, slots in self.pairs_of_tile.items()}

    def _tile(self, i: int, j: int) -> tuple[Tensor, np.ndarray]:
        """Similarities of the embeddings and of what is ranked, what is not ranked masked."""
        tile = self.kept[i, j] if (i, j) in self.kept else self.tiles.product(i, j)
        ranked = self.tiles.widen(tile, i, j)
        if i == j and self.exclude_self:
            np.fill_diagonal(ranked, MASKED)
        if self.against and (i, j) in self.pairs_of_tile:
            _, a, b = self._in_tile(i, j)
            ranked[a, b] = MASKED
            if i == j:
                ranked[b, a] = MASKED
        return tile, ranked

    def _survey(self, ranked: np.ndarray, i: int, j: int) -> tuple[int, np.ndarray, np.ndarray]:
        top, column_alive = np.empty(len(ranked), np.float32), np.empty(len(ranked), np.bool_)
        corner = self._corner(i, j)
        active = _numba.survey(ranked, *corner, self.low, self.high, self.margin, i != j, top, column_alive)
        return active, top, column_alive

    def _keep(self, i: int, j: int, tile: Tensor, ranked: np.ndarray, active: int) -> None:
        if self.tiles.listable and active <= self.sparse * ranked.size and self.list_room >= 8 * active:
            places, similarities = np.empty(active, np.int32), np.empty(active, np.float32)
            _numba.collect(ranked, *self._corner(i, j), self.low, self.high, self.margin, i != j, places, similarities)
            self.listed[i, j] = places, similarities
            self.list_room -= 8 * active
            if self.kept.pop((i, j), None) is not None:
                self.room += tile.nbytes
        elif (i, j) not in self.kept and active and self.room >= tile.nbytes:
            self.kept[i, j] = tile
            self.room -= tile.nbytes


class Tiles:
    """Similarities of a batch, tile by tile of its triangle.

    rows: [n d], as given. order: [n], the row at each place of the layout.
    edges: where tiles begin and end among the rows; ranked_edges: among what is ranked, which is the same here.
    listable: an entry's gradient goes straight to its two rows.
    """

    listable = True

    def __init__(self, rows: Tensor, order: np.ndarray):
        self.edges = self.ranked_edges = [*range(0, len(rows), TILE), len(rows)]
        self.take(rows, order)

    def take(self, rows: Tensor, order: np.ndarray) -> None:
        self.rows, self.order = rows.contiguous(), order
        self.sorted = bool((np.diff(order) == 1).all())
        self.held: dict[int, Tensor] = {}
        self.latest: dict[int, Tensor] = {}

    def places(self) -> Iterator[tuple[int, int]]:
        """The upper triangle of tiles."""
        count = len(self.edges) - 1
        return ((i, j) for i in range(count) for j in range(i, count))

    def part(self, i: int) -> Tensor:
        """The rows of one tile. Some are held, the last two always; a large batch is not copied."""
        places = slice(self.edges[i], self.edges[i + 1])
        if self.sorted:
            return self.rows[places]
        if i in self.held:
            return self.held[i]
        if i in self.latest:
            self.latest[i] = self.latest.pop(i)
            return self.latest[i]
        rows = self.rows[torch.from_numpy(self.order[places])]
        if rows.nbytes * (1 + len(self.held)) <= HELD_BYTES:
            self.held[i] = rows
            return rows
        self.latest = {key: self.latest[key] for key in list(self.latest)[-1:]} | {i: rows}
        return rows

    def product(self, i: int, j: int) -> Tensor:
        """Similarities of the embeddings of one tile."""
        return product(self.part(i), self.part(j))

    def widen(self, tile: Tensor, i: int, j: int) -> np.ndarray:
        """Similarities of what is ranked from those of the embeddings."""
        return tile.numpy()

    def narrow(self, gradient: np.ndarray, i: int, j: int) -> Tensor:
        """Gradient of the embeddings' similarities from that of what is ranked."""
        return torch.from_numpy(gradient)

    def spread(self, of_tile: Tensor, i: int, j: int, gradient: Tensor) -> None:
        """Add a tile's gradient to that of its rows, [n d], which is in the order of the layout."""
        of_i, of_j = (gradient[self.edges[t] : self.edges[t + 1]] for t in (i, j))
        if i == j:
            add_product(of_i, of_tile + of_tile.T, self.part(i))
        else:
            add_product(of_i, of_tile, self.part(j))
            add_product(of_j, of_tile.T, self.part(i))

    def spread_pairs(self, first: np.ndarray, second: np.ndarray, weights: np.ndarray, gradient: Tensor) -> None:
        """Add the gradient of single similarities to that of their rows."""
        _numba.spread_pairs(first, second, weights, self.order, self.rows.numpy(), gradient.numpy())

    def in_given_order(self, gradient: Tensor) -> Tensor:
        """The rows of a gradient back where the caller's rows are, in place."""
        if not self.sorted:
            _numba.scatter_rows(gradient.numpy(), self.order)
        return gradient


class MixedTiles(Tiles):
    """Originals and their mixtures: similarities of mixtures are mixed inside the tile of their parents.

    Classes are never cut, so that both parents of a mixture are in its tile.
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
            for start, a, b in zip(self.edges[:-1], self.ranked_edges[:-1], self.ranked_edges[1:], strict=True)
        ]
        self.first, self.second, self.alpha = first, second, alpha

    def widen(self, tile: Tensor, i: int, j: int) -> np.ndarray:
        rows, columns = self.parents[i], self.parents[j]
        half = np.empty((len(tile), len(columns[0])), np.float32)
        mixed = np.empty((len(rows[0]), len(columns[0])), np.float32)
        _numba.mix(tile.numpy(), *rows, *columns, half, mixed)
        return mixed

    def narrow(self, gradient: np.ndarray, i: int, j: int) -> Tensor:
        half = np.empty((self.edges[i + 1] - self.edges[i], gradient.shape[1]), np.float32)
        tile = np.empty((len(half), self.edges[j + 1] - self.edges[j]), np.float32)
        _numba.unmix(gradient, *self.parents[i], *self.parents[j], half, tile)
        return torch.from_numpy(tile)

    def spread_pairs(self, first: np.ndarray, second: np.ndarray, weights: np.ndarray, gradient: Tensor) -> None:
        for a, of_a in ((self.first, self.alpha), (self.second, 1 - self.alpha)):
            for b, of_b in ((self.first, self.alpha), (self.second, 1 - self.alpha)):
                share = weights * of_a[first] * of_b[second]
                some = share != 0
                super().spread_pairs(a[first][some], b[second][some], share[some], gradient)


def _cut(layout: Layout, n: int) -> tuple[list[int], list[int]]:
    """Where tiles begin and end among the originals and among all ranked rows: whole classes of some 128 originals."""
    class_ends = np.flatnonzero(np.diff(layout.lowest, append=-1)) + 1
    originals = np.cumsum(layout.order < n)[class_ends - 1]
    edges, ranked_edges = [0], [0]
    for count, end in zip(originals.tolist(), class_ends.tolist(), strict=True):
        if count - edges[-1] >= MIXED_TILE or end == class_ends[-1]:
            edges.append(count)
            ranked_edges.append(end)
    return edges, ranked_edges


def mixes_by_class(n: int, mixture: Mixture, positives: Tensor) -> bool:
    """Whether mixtures stay within classes that the walk can keep whole: complete, and not too large."""
    layout = Layout(positives.numpy(), n + len(mixture.parents))
    class_of = layout.lowest[layout.place]
    x, z = mixture.parents.numpy().T
    virtual = class_of[n:]
    alike = (class_of[x] == virtual).all() and (class_of[z] == virtual).all()
    complete = (layout.counts == layout.counts[layout.place[layout.lowest]]).all()
    return bool(alike and complete and np.bincount(class_of).max() <= WIDEST_CLASS)


def pair_similarities(queries: Tensor, items: Tensor | None, pairs: Tensor) -> Tensor:
    """Dot product of each pair, [p]; `items` None means the queries themselves."""
    found, (queries, items) = queries.new_empty(len(pairs)), _sides(queries, items)
    _numba.pair_dots(queries, items, pairs.numpy(), found.numpy())
    return found


def pair_similarities_backward(
    queries: Tensor, items: Tensor | None, pairs: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Gradients of queries and items from the gradient [p] of the pairs' similarities."""
    query_grad = torch.zeros_like(queries, memory_format=torch.contiguous_format)
    item_grad = query_grad if items is None else torch.zeros_like(items, memory_format=torch.contiguous_format)
    grads = query_grad.numpy(), item_grad.numpy()
    _numba.spread_dots(*_sides(queries, items), pairs.numpy(), weights.contiguous().numpy(), *grads)
    return query_grad, None if items is None else item_grad


def _sides(queries: Tensor, items: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    queries = queries.contiguous().numpy()
    return queries, queries if items is None else items.contiguous().numpy()


def rehearse() -> None:
    """Run every kernel on a batch of four, to learn whether this machine can compile them."""
    rows, pairs = torch.eye(4), torch.tensor([[0, 1], [1, 0], [2, 3], [3, 2]])
    rows[2, 3] = 1  # one pair is alike and the other is not
    for step in (Sigmoid(1.0), Sigmoid(0.001), HMinus(1.0), HMinus(0.001)):  # which is near for a wide step, and far
        for mixture, sparse in ((None, 0.0), (None, 1.0), (Mixture(torch.tensor([[0, 1]]), torch.tensor([0.5])), 0.0)):
            ranked = len(rows) + (mixture is not None)
            walk = Walk(rows, mixture, pairs, step, exclude_self=True, against=False, margin=0.5)
            walk.sparse = sparse
            walk.forward(keep=True)
            walk.backward(torch.ones(4), torch.ones(ranked))
    pair_similarities(rows, None, pairs)
    pair_similarities_backward(rows, None, pairs, torch.ones(4))
