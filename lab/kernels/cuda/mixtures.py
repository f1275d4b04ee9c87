"""Rank sums of originals and mixtures on CUDA: rows are multiplied for the originals, and mixtures mixed in their tile.

With four samples a class, what is ranked is 2.5 times as many rows as there are originals. To multiply mixtures as rows
of their own takes 6.25 times the operations of the originals; mixing takes one to two times.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.cuda import triton_mixed, triton_tiles
from lab.kernels.cuda.blocks import blocks_of
from lab.kernels.cuda.ranks import on_device, precision
from lab.kernels.layout import Blocks, Mixture, shape_of
from lab.kernels.plain import ranks as plain
from lab.surrogates import Sigmoid


class MixedTileLoop:
    """One batch and its mixtures ranked among themselves: `forward`, then `backward` as often as wanted.

    Args:
        rows: float32 [n d], the originals.
        blocks: how they and their mixtures are cut.
        positives: int64 [p 2] among originals and mixtures; both of a pair stand in one block.
        step: a sigmoid.
    """

    def __init__(
        self, rows: Tensor, blocks: Blocks, positives: Tensor, step: Sigmoid, exclude_self: bool
    ):
        self.rows = rows[blocks.order].contiguous()
        self.blocks = blocks
        shape = shape_of(step)
        assert shape is not None, "the step is a sigmoid"
        self.scale, self.peak = float(shape.scale), float(shape.peak)
        placed = blocks.place[positives]
        self.order = torch.argsort(placed[:, 0], stable=True)
        query_of, item_of = placed[self.order].unbind(1)
        counts = torch.bincount(query_of, minlength=len(blocks.place))
        self.pairs = torch.nn.functional.pad(counts.cumsum(0), (1, 0)), item_of.contiguous()
        self.share = sharing.current()
        self.part = self.share.rank, self.share.world
        self.launch = dict(
            ROWS=triton_mixed.ROWS,
            SUB=triton_mixed.SUB,
            DEPTH=triton_tiles.DEPTH,
            PRECISION=precision(rows.device),
            num_warps=triton_mixed.WARPS,
        )
        self.exclude_self = exclude_self

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Rank sums [p]; excess and violations are not asked of mixtures. Little is kept for `backward`."""
        self.scores = self.rows.new_empty(len(self.order))
        sums = torch.zeros_like(self.scores)
        with on_device(self.rows.device):
            triton_mixed.mixed_pair_similarities[(len(self.blocks),)](
                *self._given(), self.scores, self.rows.shape[1], **self.launch
            )
            triton_mixed.add_mixed_values[(len(self.blocks), len(self.blocks))](
                *self._given(),
                self.scores,
                sums,
                self.rows.shape[1],
                *self.part,
                self.scale,
                EXCLUDE_SELF=self.exclude_self,
                **self.launch,
            )
        (sums,) = self.share.sum(sums)
        none = self.rows.new_zeros(len(self.rows))
        return torch.empty_like(sums).index_copy_(0, self.order, sums), none, none.clone()

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """Gradient of the originals, [n d], from that of the sums, [p]."""
        owed = torch.zeros_like(weights)
        gradient = torch.zeros_like(self.rows)
        given = (
            *self._given(),
            self.scores,
            weights[self.order],
            owed,
            gradient,
            self.rows.shape[1],
            *self.part,
        )
        with on_device(self.rows.device):
            for owing, grid in (
                (False, (len(self.blocks), len(self.blocks))),
                (True, (len(self.blocks),)),
            ):
                triton_mixed.add_mixed_gradients[grid](
                    *given,
                    self.scale,
                    self.peak,
                    OWED=owing,
                    EXCLUDE_SELF=self.exclude_self,
                    **self.launch,
                )
        return torch.empty_like(gradient).index_copy_(0, self.blocks.order, gradient), None

    def _given(self) -> tuple[Tensor, ...]:
        blocks = self.blocks
        return (
            self.rows,
            blocks.first,
            blocks.second,
            blocks.alpha,
            blocks.edges,
            blocks.ranked_edges,
            *self.pairs,
        )


def warm_up() -> None:
    """Run every kernel on eight rows, and compare with plain tensors.

    Raises:
        ArithmeticError: sums or gradient are others.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.nn.functional.normalize(
        torch.arange(1.0, 129, device=device).sin().view(8, 16), dim=1
    )
    parents = torch.arange(8, device=device).view(4, 2)
    classes = torch.cat([torch.arange(8, device=device) // 2, torch.arange(4, device=device)])
    mixture = Mixture(parents, torch.linspace(0.1, 0.9, 4, device=device))
    pairs = (
        (classes[:, None] == classes) & ~torch.eye(12, dtype=torch.bool, device=device)
    ).nonzero()
    blocks = blocks_of(8, mixture, pairs, 4)
    step = Sigmoid(0.1)
    assert blocks is not None, "classes are complete"
    # Whoever asks first may share a loss with others or be under autocast; what is tried here is neither.
    with sharing.among(sharing.ALONE), torch.autocast(device, enabled=False), torch.enable_grad():
        (x, z), leaf = parents.unbind(1), rows.clone().requires_grad_()
        whole = torch.cat([leaf, torch.lerp(leaf[z], leaf[x], mixture.alpha[:, None])])
        loops = (
            MixedTileLoop(rows, blocks, pairs, step, True),
            plain.PlainTileLoop(whole.detach(), None, pairs, step, True, False, None),
        )
        sums, exact = (loop.forward(True)[0] for loop in loops)
        weights = torch.ones_like(sums)
        none = rows.new_zeros(12)
        gradient, of_whole = (loop.backward(weights, none)[0] for loop in loops)
        (exact_gradient,) = torch.autograd.grad(whole, leaf, of_whole)
    for one, other in ((sums, exact), (gradient, exact_gradient)):
        if not torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max())):
            raise ArithmeticError("mixtures of Triton's kernels are not those of plain tensors")
