"""Rank sums on CUDA by Triton kernels: every tile of similarities lives and dies inside one program.

Forward computes the upper triangle of tiles and backward computes it again, 4 n^2 d operations in all, with sums and
gradients added up atomically. Nothing of the size of a tile is ever written to memory.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.cuda import triton_tiles
from lab.kernels.layout import Shape, shape_of
from lab.kernels.plain import ranks as plain
from lab.surrogates import HMinus, Sigmoid

if TYPE_CHECKING:
    from lab.surrogates import Surrogate


class FusedTileLoop:
    """One batch ranked against some items, or among itself: `forward`, then `backward` as often as wanted."""

    def __init__(
        self,
        queries: Tensor,
        items: Tensor | None,
        positives: Tensor,
        step: Surrogate | None,
        exclude_self: bool,
        against: bool,
        margin: float | None,
    ):
        self.one_set = items is None
        self.queries = queries.contiguous()
        self.items = self.queries if items is None else items.contiguous()
        self.margin = 0.0 if margin is None else margin
        self.shape = cast("Shape", shape_of(step))  # a step without one goes the plain path
        self.order = torch.argsort(positives[:, 0], stable=True)
        self.ordered = positives[self.order]
        self.query_of, self.item_of = (column.contiguous() for column in self.ordered.unbind(1))
        counts = torch.bincount(self.query_of, minlength=len(queries))
        self.first_pair = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
        self.share = sharing.current()
        self.part = self.share.rank, self.share.world
        self.sizes = len(positives), len(self.queries), len(self.items), self.queries.shape[1]
        tiled = dict(
            ROWS=triton_tiles.ROWS, DEPTH=triton_tiles.DEPTH, PRECISION=precision(queries.device)
        )
        self.launch = tiled | dict(num_warps=triton_tiles.WARPS)
        self.kind = self.launch | dict(
            RANKS=step is not None,
            LIFTED=isinstance(step, HMinus),
            EXCESS=margin is not None,
            EXCLUDE_SELF=exclude_self,
            AGAINST=against,
            ONE_SET=self.one_set,
        )

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Rank sums [p], excess [q] and violations [q]. Little is kept, whether or not a backward will follow."""
        pairs, q, _, _ = self.sizes
        scale, delta, rho, after, start, _ = map(float, self.shape)
        self.scores = self.queries.new_empty(2 * pairs)
        sums, (excess, violations) = self.queries.new_zeros(pairs), self.queries.new_zeros(2, q)
        with on_device(self.queries.device):
            triton_tiles.listed_similarities[(_tiles(pairs),)](
                self.queries,
                self.items,
                self.query_of,
                self.item_of,
                self.scores,
                *self.sizes,
                **self.launch,
            )
            triton_tiles.add_values[self._grid()](
                self.queries,
                self.items,
                self.scores,
                self.first_pair,
                self.item_of,
                sums,
                excess,
                violations,
                *self.sizes,
                *self.part,
                self.margin,
                scale,
                delta,
                rho,
                after,
                start,
                **self.kind,
            )
        sums, excess, violations = self.share.sum(sums, excess, violations)
        return torch.empty_like(sums).index_copy_(0, self.order, sums), excess, violations

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """Gradients of queries and items from those of the sums, [p], and of the excess, [q]."""
        scale, delta, rho, _, _, peak = map(float, self.shape)
        owed = torch.zeros_like(weights)
        query_grad = torch.zeros_like(self.queries)
        item_grad = query_grad if self.one_set else torch.zeros_like(self.items)
        with on_device(self.queries.device):
            triton_tiles.add_gradients[self._grid()](
                self.queries,
                self.items,
                self.scores,
                self.first_pair,
                self.item_of,
                weights[self.order],
                excess_weights,
                owed,
                query_grad,
                item_grad,
                *self.sizes,
                *self.part,
                self.margin,
                scale,
                delta,
                rho,
                peak,
                **self.kind,
            )
        items = None if self.one_set else self.items
        of_queries, of_items = plain.pair_similarities_backward(
            self.queries, items, self.ordered, owed
        )
        return query_grad.add_(of_queries), None if of_items is None else item_grad.add_(of_items)

    def _grid(self) -> tuple[int, int]:
        _, q, r, _ = self.sizes
        return _tiles(q), _tiles(r)


def _tiles(count: int) -> int:
    return -(-count // triton_tiles.ROWS)


def precision(device: torch.device) -> str:
    """How factors are multiplied: three products of tf32 halves are as good as float32, and run on tensor cores."""
    tensor_cores = (
        device.type == "cuda"
        and not torch.version.hip
        and torch.cuda.get_device_capability(device)[0] >= 8
    )
    return "tf32x3" if tensor_cores else "ieee"


def on_device(device: torch.device) -> AbstractContextManager:
    """Triton launches on the current device; its interpreter, on the CPU, needs none."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def warm_up() -> None:
    """Run every kernel on a batch of four, to learn whether this machine can compile and launch them."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.eye(4, 16, device=device)
    pairs = torch.tensor([[0, 1], [1, 0], [2, 3], [3, 2]], device=device)
    for step, items in ((Sigmoid(0.01), None), (HMinus(), rows.clone())):
        loop = FusedTileLoop(rows, items, pairs, step, exclude_self=True, against=True, margin=0.5)
        loop.forward(keep=True)
        loop.backward(torch.ones(4, device=device), torch.ones(4, device=device))
