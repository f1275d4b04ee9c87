"""Rows of several processes as one matrix, in the order of ranks; the shares may differ in size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist


def of_all(local: torch.Tensor) -> list[torch.Tensor]:
    """One tensor of the same shape from each process, by rank. No gradient flows through."""
    pieces = [torch.empty_like(local) for _ in range(dist.get_world_size())]
    dist.all_gather(pieces, local.contiguous())
    return pieces


def sizes_of_all(local: torch.Tensor) -> list[int]:
    """How many rows each process has, by rank."""
    return [int(size) for size in of_all(torch.tensor([len(local)], device=local.device))]


def rows_of_all(local: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Own rows [n ...] to everyone's [N ...], where `sizes` are those of all processes. No gradient flows through."""
    padded = local.new_zeros(max(sizes), *local.shape[1:])
    padded[: len(local)] = local.detach()
    return torch.cat([rows[:size] for rows, size in zip(of_all(padded), sizes, strict=True)])


def mean_of_local_rows(everyone: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """The mean over processes of tensors [N d], of which each gets its own rows, [n d]; a reduce-scatter.

    Each sends every other its rows once, (world - 1) / world N d numbers, and adds up what it gets in the order of
    ranks. (gloo has no reduce_scatter for shares of different sizes.)
    """
    local = sizes[dist.get_rank()]
    world = len(sizes)
    parts = everyone.new_empty(world * local, *everyone.shape[1:])
    dist.all_to_all_single(parts, everyone.contiguous(), [local] * world, list(sizes))
    return parts.view(world, local, *everyone.shape[1:]).sum(0) / world


def sum_of_all(local: torch.Tensor) -> torch.Tensor:
    """The sum of a tensor over all processes, differentiable: what each does with the sum comes back to all."""
    return _SumOfAll.apply(local)


class _SumOfAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: torch.Tensor) -> torch.Tensor:
        whole = local.detach().clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        whole = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(whole)
        return whole
