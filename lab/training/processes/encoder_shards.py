"""An encoder whose weights, gradients and optimiser's state are shared out over the processes: torch's fully_shard.

A process holds its part of every weight, gathers a block's weights when the block is about to run, and lets them go
again. Checkpoints hold whole weights, so that any number of processes reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

BLOCK = 0.005
"""Share of all weights from which a member of a sequence is gathered by itself."""


def shard(encoder: nn.Module, device: torch.device) -> None:
    """Let each process keep its part of the encoder's weights only; before an optimiser is made of them.

    Gradients are summed over processes, as `Processes.complete` sums those of an encoder that is whole. A single
    number, such as the power of a pooling, cannot be cut: each process keeps it, and `complete` sums its gradient.
    """
    for weight in encoder.parameters():
        weight.data = weight.data.contiguous()  # those of convolutions may have their channels last
    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    least = max(1, BLOCK * sum(p.numel() for p in encoder.parameters()))  # weights that are worth a collective
    sequences = [module for module in encoder.modules() if isinstance(module, nn.Sequential | nn.ModuleList)]
    called = [block for sequence in sequences for block in sequence if not isinstance(block, nn.ModuleList)]
    blocks = {id(one): one for one in called if sum(p.numel() for p in one.parameters()) >= least}
    numbers = {weight for weight in encoder.parameters() if weight.ndim == 0}
    for block in reversed(blocks.values()):  # inner ones first
        fully_shard(block, mesh=mesh, ignored_params=numbers)
    fully_shard(encoder, mesh=mesh, ignored_params=numbers)
    for module in _sharded(encoder):
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)  # gloo knows no other


@contextmanager
def gathered(encoder: nn.Module) -> Iterator[None]:
    """Within the block every process holds all weights, and may embed as many batches as it likes, without gradient."""
    for module in _sharded(encoder):
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
    try:
        yield
    finally:
        for module in _sharded(encoder):
            module.set_reshard_after_forward(True, recurse=False)
            module.reshard()


def whole(state: Any) -> Any:
    """A state with every weight whole, in the memory of the CPU; all processes have to call this."""
    if isinstance(state, DTensor):
        return state.full_tensor().cpu()
    if isinstance(state, Mapping):
        return {key: whole(value) for key, value in state.items()}
    return [whole(value) for value in state] if isinstance(state, list) else state


def encoder_state(state: Mapping[str, Any], encoder: nn.Module) -> dict[str, Any]:
    """The parts of whole weights that this process of a sharded encoder holds."""
    return {name: _part(state[name], like) if name in state else like for name, like in encoder.state_dict().items()}


def optimiser_state(state: Mapping[str, Any], optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """The parts of an optimiser's whole state that this process holds."""
    listed = [weight for group in optimiser.param_groups for weight in group["params"]]
    parts = {
        place: {key: _part(value, listed[place]) for key, value in remembered.items()}
        for place, remembered in state["state"].items()
    }
    return {**state, "state": parts}


def _part(value: Any, like: Any) -> Any:
    if not (isinstance(like, DTensor) and isinstance(value, torch.Tensor) and value.shape == like.shape):
        return value
    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements)


def _sharded(encoder: nn.Module) -> list[Any]:
    return [module for module in encoder.modules() if isinstance(module, FSDPModule)]
