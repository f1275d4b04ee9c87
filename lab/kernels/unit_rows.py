"""Rows of unit length, with a backward that makes no copies of the batch but its result."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.surrogates import once_differentiable

CHUNK = 128
"""Rows at a time in backward: they stay in cache."""


def unit(rows: Tensor) -> Tensor:
    """Rows scaled to length 1, [n d]. A row of zeros has no direction: it stays, and its gradient passes unchanged.

    Differentiable once; O(n d) time, and no memory but the result, the lengths and the gradient. The result is not kept
    for backward, so that it is gone by then: the gradient takes its place. Lengths are taken of rows brought near to 1,
    since the squares of very long and very short ones are no numbers of their type.
    """
    return _Unit.apply(rows)


def scale_of(rows: Tensor) -> Tensor:
    """The power of two, [n 1], that brings each row's largest entry to between .5 and 1: no digit is lost by it."""
    if not rows.numel():
        return rows.new_ones(len(rows), 1)
    _, exponent = torch.frexp(torch.linalg.vector_norm(rows.detach(), torch.inf, dim=1, keepdim=True))
    most = 126 if rows.dtype == torch.float32 else 1022  # beyond, the power itself is no number of the type
    return torch.ldexp(torch.ones_like(exponent, dtype=rows.dtype), -exponent.clamp(-most, most))


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        scale = scale_of(rows)
        scaled = rows * scale
        length = torch.linalg.vector_norm(scaled, dim=1, keepdim=True)
        length = torch.where(length > 0, length, 1)
        ctx.save_for_backward(rows, length, scale)
        return scaled.div_(length)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        rows, length, scale = ctx.saved_tensors
        found = torch.empty_like(rows)
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            unit = rows[some] * scale[some] / length[some]
            along = (gradient[some] * unit).sum(1, keepdim=True)
            torch.addcmul(gradient[some], along, unit, value=-1, out=found[some]).div_(length[some]).mul_(scale[some])
        return found
