"""Gradients of which processes hold parts: their norm, and clipping by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def norm(weights: Sequence[nn.Parameter], parts: Iterable[nn.Parameter] = ()) -> torch.Tensor:
    """Norm of all gradients, []; the same in every process.

    parts: those of the weights that are other ones in each process. Weights that torch shards are known by themselves.
    """
    sharded = {id(weight) for weight in parts}
    split: dict[bool, list[torch.Tensor]] = {False: [], True: []}
    for weight in weights:
        if weight.grad is not None:
            split[id(weight) in sharded or hasattr(weight.grad, "to_local")].append(local(weight.grad))
    of_all, of_each = (torch.nn.utils.get_total_norm(split[in_part]) for in_part in (False, True))
    kind = torch.promote_types(of_all.dtype, of_each.dtype)  # that of no gradients is float32
    square = of_each.square().to(next(one.device for one in (*split[False], *split[True])), kind)
    if dist.is_initialized():
        dist.all_reduce(square)
    return (of_all.square().to(square) + square).sqrt()


def in_parts(encoder: nn.Module) -> bool:
    """Whether each process holds a part of the encoder's weights only (`encoder_shards`, which is slow to import)."""
    return hasattr(encoder, "set_gradient_divide_factor")


def local(gradient: Any) -> torch.Tensor:
    """What this process holds of a gradient."""
    return gradient.to_local() if hasattr(gradient, "to_local") else gradient


def clip(weights: Iterable[nn.Parameter], largest: float, total: torch.Tensor) -> None:
    """Scale gradients of this norm down to the largest one wanted, as torch.nn.utils.clip_grad_norm_ does."""
    factor = torch.clamp(largest / (total + 1e-6), max=1.0)
    for weight in weights:
        if weight.grad is not None:
            local(weight.grad).mul_(factor)
