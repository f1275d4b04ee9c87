"""Rows of several processes as one matrix, in the order of ranks; the shares may differ in size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def of_all(own: torch.Tensor) -> list[torch.Tensor]:
    """One tensor of the same shape from each process, by rank. No gradient flows through."""
    found = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(found, own.contiguous())
    return found


def sizes_of_all(own: torch.Tensor) -> list[int]:
    """How many rows each process has, by rank."""
    return [int(size) for size in of_all(torch.tensor([len(own)], device=own.device))]


def rows_of_all(own: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Own rows [n ...] to everyone's [N ...], where `sizes` are those of all processes. No gradient flows through."""
    padded = own.new_zeros(max(sizes), *own.shape[1:])
    padded[: len(own)] = own.detach()
    return torch.cat([rows[:size] for rows, size in zip(of_all(padded), sizes, strict=True)])
