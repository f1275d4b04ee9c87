"""Rows of unit length, with a backward that makes no copies of the batch but its result."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 128
"""Rows at a time in backward: they stay in cache."""


def unit(rows: Tensor) -> Tensor:
    """Rows scaled to length 1, [n d]. A row of zeros has no direction: it stays, and its gradient passes unchanged.

    Differentiable once; O(n d) time, and no memory but the result, the lengths and the gradient.
    """
    return _Unit.apply(rows)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        length = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        length = torch.where(length > 0, length, 1)
        unit = rows / length
        ctx.save_for_backward(unit, length)
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        unit, length = ctx.saved_tensors
        found = torch.empty_like(unit)
        for start in range(0, len(unit), CHUNK):
            some = slice(start, start + CHUNK)
            along = (gradient[some] * unit[some]).sum(1, keepdim=True)
            torch.addcmul(gradient[some], along, unit[some], value=-1, out=found[some]).div_(length[some])
        return found
