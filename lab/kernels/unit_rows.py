"""Rows of unit length, with a backward that makes no copies of the batch but its result."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lab.surrogates import once_differentiable

FAR = 2.0**32
"""Rows with an entry this long, or with none as long as its inverse, are scaled before they are squared."""


def unit(rows: Tensor) -> Tensor:
    """Rows scaled to length 1, [n d]. A row of zeros has no direction: it stays, and its gradient passes unchanged.

    Differentiable once; O(n d) time, and no memory but the result, the lengths and the gradient. The result is not kept
    for backward, so that it is gone by then: the gradient takes its place. Very long and very short rows are scaled
    first, since their squares are no numbers of their type.
    """
    # torch divides by the number of entries in backward
    return _Unit.apply(rows) if rows.numel() else rows.clone()


def _scale_of(rows: Tensor) -> Tensor:
    """A power of two for each row, [n 1]: 1, but for rows so long or so short that squares of their entries are lost.

    Times it a row has the same direction, to the last digit.
    """
    longer, shorter = (2.0**527, 2.0**-528) if rows.dtype == torch.float64 else (2.0**88, 2.0**-80)
    largest = _largest(rows)
    scale = torch.ones_like(largest).masked_fill(largest > FAR, shorter)
    return scale.masked_fill((largest > 0) & (largest < 1 / FAR), longer)


def _largest(rows: Tensor) -> Tensor:
    """Each row's largest absolute entry, [n 1]; torch's norm of that kind takes twenty times as long."""
    low, high = rows.detach().aminmax(dim=1, keepdim=True)
    return torch.maximum(-low, high)


def near_one(rows: Tensor) -> Tensor:
    """The rows, or rows of the same directions where some are so long or so short that others lose them.

    For code that squares rows itself, or takes those shorter than 1e-12 for zero, as torch's `normalize` does. That
    divides the gradient of a row of zeros by 1e-12; here it passes unchanged, as in `unit`. Differentiable as often as
    wanted.
    """
    if not rows.numel():
        return rows
    largest = _largest(rows)
    if (largest == 0).any():
        rows = torch.where(largest > 0, rows, rows * 1e-12)
        largest = torch.where(largest > 0, largest, 1)
    return rows if ((largest <= FAR) & (largest >= 1 / FAR)).all() else rows / largest


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        rows = rows.contiguous()  # which the backward of torch's weight norm takes for granted
        length = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        scale = None
        shortest, longest = length.aminmax()
        # squares may be lost, or a row is zero
        if not 1 / FAR <= float(shortest) <= float(longest) <= FAR:
            scale = _scale_of(rows)
            length = torch.linalg.vector_norm(rows * scale, dim=1, keepdim=True)
            length = torch.where(length > 0, length, 1)
        ctx.save_for_backward(rows, length, scale)
        return rows / length if scale is None else (rows * scale).div_(length)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        rows, length, scale = ctx.saved_tensors
        rows = rows if scale is None else rows * scale
        grad = _through(gradient.contiguous(), rows, length)
        return grad if scale is None else grad.mul_(scale)


def _through(gradient: Tensor, rows: Tensor, length: Tensor) -> Tensor:
    """The gradient by rows, from that by rows / length. In one pass by the backward of torch's weight norm, which torch
    keeps to itself."""
    fused = getattr(torch.ops.aten, "_weight_norm_interface_backward", None)
    if fused is not None:
        return fused(gradient, rows, torch.ones_like(length), length, 0)[0]
    along = (gradient * rows).sum(1, keepdim=True) / length.square()
    return (gradient - rows * along) / length
