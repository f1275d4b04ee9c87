"""Rank sums on the CPU with compiled tiles: one tile of the similarity matrix serves both of its sides.

       0  1  2  3   columns of tiles      a tile (i, j) of the triangle is S = X_i X_j'
    0  d  a  a  a                         forward: its similarities count for the queries of rows i and, read downwards,
    1     d  a  a                             of columns j: sums[q, p] += step(S[q, z] - s[q, p]) for each positive p
    2        d  a                         backward: G = the slopes of both sides;  dX_i += G X_j,  dX_j += G' X_i
    3           d                             (on the diagonal d, which comes last: dX_i += (G + G') X_i)

Forward walks the upper triangle of tiles and backward walks it again, 4 n^2 d operations in all, against 6 n^2 d of a
product and its two backward products. Two things make it less: tiles are kept in the gradient's own memory and while
a small budget lasts, and a tile with few active gradients is kept as a list of them, so that backward needs none of its
three products.

What is left out: a gap below -cut counts as zero, and one outside +-cut has no gradient, where
cut = tau (ln r + 23 ln 2) for r ranked items. A sigmoid beyond the cut is below 2^-23 / r, so a rank sum errs by less
than 2^-23, and its gradient with respect to all similarities together by less than 2^-23 / tau.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from lab.core import threads
from lab.kernels import sharing
from lab.kernels.cpu import numba_pairs, numba_tiles, tiles
from lab.kernels.cpu.diagonals import Layout
from lab.kernels.cpu.tiles import GradientBuffer, MixedTiles, Tiles, symmetric
from lab.kernels.layout import NEVER, Mixture, Shape, cutoff, shape_of
from lab.surrogates import Heaviside, Sigmoid

if TYPE_CHECKING:
    from lab.surrogates import Surrogate

KEPT_BYTES = 11 << 20
"""Budget for tiles that forward keeps for backward, beside those that lie in the gradient's own memory."""

LISTED_BYTES = 64 << 20
"""Budget for lists of active entries, 8 bytes each."""

SPARSE = 0.08
"""Share of active entries below which a list beats the tile's products."""

MASKED = -1e30
"""Similarity of what is not ranked."""

Place = tuple[int, int]
"""Numbers of a tile's rows and columns."""


class CompiledTileLoop:
    """Ranks one batch among itself: call `forward`, then `backward` any number of times."""

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
        self.step = step
        self.exclude_self = exclude_self
        self.against = against
        self.shape = cast("Shape", shape_of(step))  # a step without one goes the plain path
        ranked = len(rows) + (0 if mixture is None else len(mixture.parents))
        self.share = sharing.current()
        alone = self.share.world == 1 and mixture is None
        whole = alone and len(rows) <= tiles.WHOLE
        self.layout = Layout(positives.numpy(), ranked, by_class=not whole)
        if mixture is not None:
            self.tiles: Tiles = MixedTiles(rows, mixture, self.layout)
        elif whole:
            self.tiles = Tiles(rows, self.layout.order, len(rows))
        elif alone:
            self.tiles = Tiles(rows, self.layout.order, tiles.LARGE_TILE)
        else:
            self.tiles = Tiles(rows, self.layout.order, tiles.TILE)
        self.places = self.share.places(self.tiles.places())
        # A tile of the diagonal holds pairs' own similarities: it comes last, when what they are owed is known.
        self.backward_places = threads.in_rounds(self.places, diagonal_last=True)
        self.gradient: GradientBuffer | None = None
        self.pairs_of_tile = self._pairs_by_tile()
        self.kept: dict[Place, Tensor] = {}
        self.listed: dict[Place, tuple[np.ndarray, np.ndarray]] = {}
        self.active_tiles: dict[Place, tuple[int, np.ndarray, np.ndarray]] = {}
        self.room = KEPT_BYTES
        self.list_room = LISTED_BYTES
        self.sparse = SPARSE

    @property
    def rows(self) -> tuple[Tensor, Tensor | None]:
        """The rows as they lie in memory, [n d], and where each given one is among them, [n], if not at its place."""
        tiles = self.tiles
        return tiles.rows, None if tiles.row_at is tiles.order else torch.from_numpy(
            np.argsort(tiles.order)
        )

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Compute rank sums [p], excess [n] and violations [n]; set `keep` if backward will be called."""
        if keep and not self.tiles.whole:
            self.gradient = GradientBuffer(self.tiles, self.backward_places)
        self._read_pairs()
        low, high = self.layout.spans(self.scores)
        self._prepare()
        below, above = cutoff(self.step, self.layout.order.size)
        self.cutoff = -np.float32(below)
        self.low, self.high = (
            low + np.float32(below),
            np.minimum(high + np.float32(above), np.float32(-MASKED)),
        )
        sums = np.zeros(len(self.scores))
        excess, violations = np.zeros((2, self.layout.order.size))
        below_all = sums, excess, violations

        def survey(place: Place) -> tuple[Tensor, np.ndarray]:
            tile, ranked = self._tile(*place)
            top = np.empty(len(ranked), np.float32)
            alive = np.empty(len(ranked), np.bool_)
            corner = self._corner(*place)
            twice = place[0] != place[1]
            active = numba_tiles.survey(
                ranked, *corner, self.low, self.high, self.margin, twice, top, alive
            )
            self.active_tiles[place] = active, top, alive
            return tile, ranked

        threads.in_turns(
            threads.in_rounds(self.places),
            survey,
            lambda place, tiles: self._add_tile(tiles[1], place, *below_all),
            settle=(lambda place, tiles: self._keep(*place, *tiles)) if keep else None,
        )
        sums, excess, violations = self._of_all(sums, excess, violations)
        if not self.against:
            at_tie = 0.0 if self.step is None else float(self.step.value(torch.zeros(1)))
            itself = (self.layout.first == self.layout.second) & self.exclude_self
            sums -= np.where(itself, 0, at_tie)
        place = self.layout.place
        outputs = sums[self.layout.slots], excess[place], violations[place]
        of_pairs, of_rows, over = (torch.from_numpy(x).float() for x in outputs)
        return of_pairs, of_rows, over

    def _add_tile(
        self,
        ranked: np.ndarray,
        place: Place,
        sums: np.ndarray,
        excess: np.ndarray,
        violations: np.ndarray,
    ) -> None:
        """Add a tile to the sums of its rows and columns, and list its entries that carry a gradient."""
        i, j = place
        _, top, column_alive = self.active_tiles[place]
        rows = slice(self.tiles.ranked_edges[i], self.tiles.ranked_edges[i + 1])
        if (top >= self.low[rows]).any() or column_alive.any():
            numba_tiles.add_values(
                ranked,
                *self._corner(i, j),
                self.scores,
                self.power,
                self.exponent,
                self.centre,
                self.layout.base,
                self.layout.counts,
                top,
                column_alive,
                self.cutoff,
                i != j,
                sums,
                self.shape,
                *self.kind,
            )
        if self.margin < NEVER:
            numba_tiles.add_excess(
                ranked, *self._corner(i, j), self.margin, i != j, excess, violations
            )
        if place in self.listed:
            places, similarities = self.listed[place]
            count = numba_tiles.collect(
                ranked,
                *self._corner(i, j),
                self.low,
                self.high,
                self.margin,
                i != j,
                places,
                similarities,
            )
            self.listed[place] = places[:count], similarities[:count]

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, None]:
        """Compute the gradient of the rows, [n d], from those of the sums, [p], and of the excess, [n]."""
        layout = self.layout
        tiles = self.tiles
        in_slots = np.empty(len(self.scores), np.float32)
        in_slots[layout.slots] = weights.numpy()
        of_excess = excess_weights.numpy()[layout.order]
        owed = np.zeros(len(self.scores))
        of_slots = in_slots, of_excess, owed
        if (
            tiles.whole
            and (0, 0) in self.active_tiles
            and (0, 0) not in self.listed
            and self.active_tiles[0, 0][0]
        ):
            of_tile = self._slopes(self._tile(0, 0)[1], (0, 0), None, *of_slots)
            self.kept.pop((0, 0), None)  # the gradient took its place
            return tiles.in_given_order(tiles.gradient_of_whole(of_tile)), None
        lent = self.gradient or GradientBuffer(tiles, ())
        self.gradient = None
        gradient = lent.begin()
        rooms = threading.local()

        def similarities(place: Place) -> np.ndarray | None:
            return (
                None
                if place in self.listed or not self.active_tiles[place][0]
                else self._tile(*place)[1]
            )

        def spread(place: Place, ranked: np.ndarray | None) -> None:
            if place in self.listed:
                self._spread_listed(place, *of_slots, gradient)
            elif ranked is not None:
                room = rooms.__dict__.setdefault("room", torch.empty(0))
                # torch's memory is aligned as products like it, and numpy's is not
                if len(room) < ranked.size:
                    room = rooms.room = torch.empty(ranked.size)
                of_tile = self._slopes(
                    ranked, place, room[: ranked.size].view(ranked.shape).numpy(), *of_slots
                )
                lent.give_back(place)
                tiles.spread(tiles.narrow(of_tile, *place), *place, gradient)

        threads.in_turns(self.backward_places, similarities, spread)
        for place in lent.lent:
            self.kept.pop(place, None)
        rest = np.flatnonzero(owed)
        tiles.spread_pairs(layout.first[rest], layout.second[rest], -owed[rest], gradient)
        return tiles.in_given_order(gradient), None

    def _spread_listed(
        self,
        place: Place,
        weights: np.ndarray,
        of_excess: np.ndarray,
        owed: np.ndarray,
        gradient: Tensor,
    ) -> None:
        """Add the gradient of a tile's listed entries to the gradient of the rows."""
        (places, similarities), layout, edges = (
            self.listed[place],
            self.layout,
            self.tiles.ranked_edges,
        )
        numba_tiles.spread_listed(
            places,
            similarities,
            edges[place[1] + 1] - edges[place[1]],
            *self._corner(*place),
            self.scores,
            weights,
            layout.base,
            layout.counts,
            self.margin,
            of_excess,
            owed,
            self.shape,
            self.tiles.row_at,
            self.tiles.rows.numpy(),
            gradient.numpy(),
            self.kind[0],
        )

    def _slopes(
        self,
        ranked: np.ndarray,
        place: Place,
        room: np.ndarray | None,
        weights: np.ndarray,
        of_excess: np.ndarray,
        owed: np.ndarray,
    ) -> np.ndarray:
        """Compute the gradient of a tile's similarities, in `room` or, without `room`, in the tile itself."""
        (i, j), layout, of_tile = place, self.layout, ranked if room is None else room
        _, top, column_alive = self.active_tiles[place]
        numba_tiles.add_slopes(
            ranked,
            of_tile,
            *self._corner(i, j),
            self.scores,
            self.power,
            self.exponent,
            self.centre,
            weights,
            layout.base,
            layout.counts,
            top,
            column_alive,
            self.cutoff,
            i != j,
            owed,
            self.shape,
            self.margin,
            of_excess,
            *self.kind,
        )
        if i == j and place in self.pairs_of_tile:
            slots, a, b = self._in_tile(i, j)
            of_tile[a, b] -= owed[slots]
            owed[slots] = 0
        return of_tile

    def _prepare(self) -> None:
        """Return a centre, and each positive's factor 2^(scale (t - centre)) as power and exponent."""
        self.centre = (self.scores.min() + self.scores.max()) / 2
        factor = (self.scores - self.centre) * self.shape.scale
        counts = 23 + math.log2(self.layout.order.size)  # 2^-counts is what `cutoff` leaves out
        narrow = bool(np.abs(factor).max() <= numba_tiles.WIDE_ITEM - counts)
        whole = np.zeros_like(factor) if narrow else np.rint(factor)
        self.power, self.exponent = np.exp2(factor - whole), whole.astype(np.int32)
        self.kind = _lifted(self.shape), (True if narrow else None)

    def _corner(self, i: int, j: int) -> tuple[int, int]:
        return self.tiles.ranked_edges[i], self.tiles.ranked_edges[j]

    def _pairs_by_tile(self) -> dict[tuple[int, int], np.ndarray]:
        """List the slots of the pairs whose similarity is in each tile of the triangle."""
        if self.tiles.whole:
            return {(0, 0): np.arange(len(self.layout.first))}
        edges = self.tiles.ranked_edges
        count = len(self.tiles.edges) - 1
        i = np.searchsorted(edges, self.layout.first, side="right") - 1
        j = np.searchsorted(edges, self.layout.second, side="right") - 1
        code = np.minimum(i, j) * count + np.maximum(i, j)
        by_tile = np.argsort(code, kind="stable")
        codes, starts = np.unique(code[by_tile], return_index=True)
        slots = np.split(by_tile, starts[1:])
        return {(int(c) // count, int(c) % count): s for c, s in zip(codes, slots, strict=True)}

    def _in_tile(self, i: int, j: int) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """Return the slots of the pairs in a tile, and their positions in it."""
        if self.tiles.whole:
            return slice(None), self.layout.first, self.layout.second
        slots = self.pairs_of_tile[i, j]
        a = self.layout.first[slots]
        b = self.layout.second[slots]
        turned = (a >= self.tiles.ranked_edges[i + 1]) | (b < self.tiles.ranked_edges[j])
        corner = self._corner(i, j)
        return slots, np.where(turned, b, a) - corner[0], np.where(turned, a, b) - corner[1]

    def _read_pairs(self) -> None:
        """Each positive's similarity, by slot, read from the very tile it is compared in, so that equal rows tie; a
        row's ascend along its slots, so that those out of reach are the last."""
        similarities = np.zeros(len(self.layout.first), np.float32)

        def read(place: Place) -> Tensor:
            tile = self.tiles.product(*place)
            slots, a, b = self._in_tile(*place)
            similarities[slots] = self.tiles.widen(tile, *place)[a, b]
            return tile

        def keep(place: Place, tile: Tensor) -> None:
            if self.room >= tile.nbytes:
                self.kept[place] = tile
                self.room -= tile.nbytes

        threads.in_turns(
            [place for place in self.places if place in self.pairs_of_tile],
            read,
            lambda *_: None,
            settle=keep,
        )
        (similarities,) = self._of_all(similarities)
        moved = self.layout.sort_slots(similarities)
        self.scores = np.empty_like(similarities)
        self.scores[moved] = similarities
        self.pairs_of_tile = {place: moved[slots] for place, slots in self.pairs_of_tile.items()}

    def _of_all(self, *parts: np.ndarray) -> list[np.ndarray]:
        """Sum arrays of one type over the processes that share the tiles."""
        return [whole.numpy() for whole in self.share.sum(*map(torch.from_numpy, parts))]

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

    def _keep(self, i: int, j: int, tile: Tensor, ranked: np.ndarray) -> None:
        """Keep a tile, or set room aside for a list of it, while there is some."""
        active = self.active_tiles[i, j][0]
        if (
            self.tiles.listable
            and active <= self.sparse * ranked.size
            and self.list_room >= 8 * active
        ):
            self.listed[i, j] = np.empty(active, np.int32), np.empty(active, np.float32)
            self.list_room -= 8 * active
            if self.kept.pop((i, j), None) is not None:
                self.room += tile.nbytes
        elif (i, j) not in self.kept and active:
            in_gradient = None if self.gradient is None else self.gradient.keep((i, j), tile)
            if in_gradient is not None:
                self.kept[i, j] = in_gradient
            elif self.room >= tile.nbytes:
                self.kept[i, j] = tile
                self.room -= tile.nbytes


def pair_similarities(queries: Tensor, items: Tensor | None, pairs: Tensor) -> Tensor:
    """Compute the dot product of each pair, [p]; `items` None means the queries themselves."""
    products = queries.new_empty(len(pairs))
    numba_pairs.pair_dots(*_sides(queries, items), pairs.numpy(), products.numpy())
    return products


def pair_similarities_backward(
    queries: Tensor, items: Tensor | None, pairs: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Compute the gradients of queries and items from the gradient [p] of the pairs' similarities."""
    query_grad = torch.zeros_like(queries, memory_format=torch.contiguous_format)
    item_grad = (
        query_grad
        if items is None
        else torch.zeros_like(items, memory_format=torch.contiguous_format)
    )
    grads = query_grad.numpy(), item_grad.numpy()
    numba_pairs.spread_dots(
        *_sides(queries, items), pairs.numpy(), weights.contiguous().numpy(), *grads
    )
    return query_grad, None if items is None else item_grad


def _sides(queries: Tensor, items: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    rows = queries.contiguous().numpy()
    return rows, rows if items is None else items.contiguous().numpy()


def positive_sums(
    similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """Compute `lab.kernels.positive_rank_sums`, float32 [p], for pairs sorted by query; see `knows_positives`."""
    sums = torch.empty_like(similarities)
    hard = _hard(step)
    shape = cast("Shape", shape_of(None if hard else step))
    numba_pairs.positive_sums(
        *_among(similarities, ordered, exclude_self), shape, _lifted(shape), hard, sums.numpy()
    )
    return sums


def positive_sums_backward(
    similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool, weights: Tensor
) -> Tensor:
    """Compute the gradient [p] of the pairs' similarities from the gradient [p] of the sums."""
    gradient = torch.zeros_like(similarities)
    if not _hard(step):
        shape = cast("Shape", shape_of(step))
        of_sums = weights.contiguous().numpy()
        among = _among(similarities, ordered, exclude_self)
        numba_pairs.positive_slopes(*among, of_sums, shape, _lifted(shape), gradient.numpy())
    return gradient


def knows_positives(step: Surrogate) -> bool:
    """Whether the two functions above can compute this step."""
    return bool(_hard(step)) or shape_of(step) is not None


def _hard(step: Surrogate) -> bool | None:
    return True if isinstance(step, Heaviside) and step.at_zero == 1 else None


def _lifted(shape: Shape) -> bool | None:
    return True if shape.delta < NEVER else None


def _among(
    similarities: Tensor, ordered: Tensor, exclude_self: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Similarities, 0 for a pair that none is compared with and else 1, and the pairs."""
    pairs = ordered.contiguous().numpy()
    ranked = np.ones(len(pairs), np.float32)
    if exclude_self:
        ranked[pairs[:, 0] == pairs[:, 1]] = 0
    return similarities.contiguous().numpy(), ranked, pairs


def warm_up() -> None:
    """Run the kernels on a batch of four with a sigmoid, to find out whether this machine can compile them. The kernels
    of other steps take seconds more and are compiled at their first use."""
    rows = torch.eye(4)
    pairs = torch.tensor([[0, 1], [1, 0], [2, 3], [3, 2]])
    rows[2, 3] = 1  # one pair is alike and the other is not
    for mixture, sparse in (
        (None, 0.0),
        (None, 1.0),
        (Mixture(torch.tensor([[0, 1]]), torch.tensor([0.5])), 0.0),
    ):
        ranked = len(rows) + (mixture is not None)
        loop = CompiledTileLoop(
            rows, mixture, pairs, Sigmoid(0.01), exclude_self=True, against=False, margin=0.5
        )
        loop.sparse = sparse
        loop.forward(keep=True)
        loop.backward(torch.ones(4), torch.ones(ranked))
    symmetric(rows)
    similarities = pair_similarities(rows, None, pairs)
    pair_similarities_backward(rows, None, pairs, torch.ones(4))
    positive_sums(similarities, pairs, Sigmoid(0.01), exclude_self=True)
    positive_sums_backward(similarities, pairs, Sigmoid(0.01), True, torch.ones(4))
