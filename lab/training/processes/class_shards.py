"""Class weights of which each process holds some (`lab.losses.sharded`), and their files of a checkpoint.

Each process writes one file beside the checkpoint, named by its step, and the checkpoint is written after all of them.
So a checkpoint never names files that are not whole. Any number of processes reads them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from lab.training import checkpoint


class Held:
    """The weights of this process's classes in a loss, and what the optimiser remembers of them.

    module: has `first`, `last`, `class_axis` and `knobs.num_classes`.
    """

    def __init__(self, module: Any, prefix: str, optimiser: torch.optim.Optimizer):
        self.module, self.optimiser = module, optimiser
        self.weights = {f"{prefix}{name}": weight for name, weight in module.named_parameters()}

    def whole(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A loss's state without these weights."""
        return {name: value for name, value in state.items() if name not in self.weights}

    def restored(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state that `whole` gave, with these weights as they are."""
        return {**{name: weight.detach() for name, weight in self.weights.items()}, **state}

    def rest(self) -> dict[str, Any]:
        """The optimiser's state without that of these weights."""
        state = self.optimiser.state_dict()
        listed = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        sharded = {id(weight) for weight in self.weights.values()}
        kept = {place: value for place, value in state["state"].items() if id(listed[place]) not in sharded}
        return {**state, "state": kept}

    def save(self, folder: Path, step: int) -> dict[str, int]:
        """Write this process's file; returns what the checkpoint has to say of all of them."""
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        remembered = {name: dict(self.optimiser.state.get(weight, {})) for name, weight in self.weights.items()}
        folder.mkdir(parents=True, exist_ok=True)
        checkpoint.save(_file(folder, step, rank, world), {"weights": dict(self.weights), "optimiser": remembered})
        return {"step": step, "world": world, "classes": self.module.knobs.num_classes}

    def load(self, folder: Path, record: Mapping[str, int]) -> None:
        """Read this process's classes from the files of any number of processes.

        Raises:
            ValueError: a file is missing or damaged, or they are of another number of classes.
        """
        classes, world = record["classes"], record["world"]
        if classes != self.module.knobs.num_classes:
            raise ValueError(f"its class weights are of {classes} classes, not {self.module.knobs.num_classes}.")
        for rank in range(world):
            first, last = (classes * one // world for one in (rank, rank + 1))
            if last > self.module.first and first < self.module.last:
                path = _file(folder, record["step"], rank, world)
                if not path.is_file():
                    raise ValueError(f"its class weights are in {world} files, of which {path.name} is missing.")
                self._take(checkpoint.load(path), first, last)

    def _take(self, state: Mapping[str, Any], first: int, last: int) -> None:
        """Copy the classes that a file and this process both have."""
        low, high = max(first, self.module.first), min(last, self.module.last)
        for name, weight in self.weights.items():
            axis = self.module.class_axis if weight.ndim > 1 else 0
            rows = weight.shape[axis] // (self.module.last - self.module.first)  # of a class

            def copy(to: torch.Tensor, source: torch.Tensor, axis: int = axis, rows: int = rows) -> None:
                place = to.narrow(axis, rows * (low - self.module.first), rows * (high - low))
                place.copy_(source.narrow(axis, rows * (low - first), rows * (high - low)))

            copy(weight.data, state["weights"][name])
            remembered = self.optimiser.state[weight]
            for key, value in state["optimiser"][name].items():
                if isinstance(value, torch.Tensor) and value.ndim:
                    copy(remembered.setdefault(key, torch.zeros_like(weight)), value)
                else:
                    remembered[key] = value

    def tidy(self, folder: Path, step: int) -> None:
        """Remove the files of other steps, once the checkpoint of this one is written."""
        for path in folder.glob("last.classes.*"):
            if not path.name.startswith(f"last.classes.{step:08d}."):
                path.unlink(missing_ok=True)


def held_by(loss: nn.Module, optimiser: torch.optim.Optimizer) -> Held | None:
    """The weights of this process's classes in a loss, if it shares them out."""
    for name, module in loss.named_modules():
        if is_shard(module):
            return Held(module, f"{name}." if name else "", optimiser)
    return None


def norm(weights: Sequence[nn.Parameter], parts: Iterable[nn.Parameter]) -> torch.Tensor:
    """Norm of all gradients, []; the same in every process. parts: the weights that are others in each process."""
    sharded = {id(weight) for weight in parts}
    split: dict[bool, list[torch.Tensor]] = {False: [], True: []}
    for weight in weights:
        if weight.grad is not None:
            split[id(weight) in sharded].append(weight.grad)
    of_all, of_each = (torch.nn.utils.get_total_norm(split[in_part]) for in_part in (False, True))
    kind = torch.promote_types(of_all.dtype, of_each.dtype)  # that of no gradients is float32
    square = of_each.square().to(next(one.device for one in (*split[False], *split[True])), kind)
    if dist.is_initialized():
        dist.all_reduce(square)
    return (of_all.square().to(square) + square).sqrt()


def is_shard(module: nn.Module) -> bool:
    """Whether a module holds the weights of some classes, and other processes those of others."""
    return hasattr(module, "first") and hasattr(module, "class_axis")


def _file(folder: Path, step: int, rank: int, world: int) -> Path:
    return folder / f"last.classes.{step:08d}.{rank}-of-{world}.safetensors"
