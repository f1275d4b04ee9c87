"""Rows of unit length, with a backward that makes no copies of the batch but its result."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 128
"""Rows at a time in backward: they stay in cache."""


def unit(rows: Tensor) -> Tensor:
    """Rows scaled to length 1, [n d]. A row of zeros has no direction: it stays, and its gradient passes unchanged.

    Differentiable once; O(n d) time, and no memory but the result, the lengths and the gradient. The result is not kept
    for backward, so that it is gone by then: the gradient takes its place.
    """
    return _Unit.apply(rows)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        length = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        length = torch.where(length > 0, length, 1)
        ctx.save_for_backward(rows, length)
        return rows / length

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        rows, length = ctx.saved_tensors
        found = torch.empty_like(rows)
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            unit = rows[some] / length[some]
            along = (gradient[some] * unit).sum(1, keepdim=True)
            torch.addcmul(gradient[some], along, unit, value=-1, out=found[some]).div_(length[some])
        return found
