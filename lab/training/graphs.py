"""Which part of a chunk's graph the first pass of a large-batch step keeps: all, nothing, or the layers after a cut.

Keeping the last layers saves embedding them again and costs little memory in a CNN, whose bytes are in its early
layers. A cut is a module whose output is all that later layers see of the image: a stage, or a block of a stage. The
first pass runs without graph up to it, makes its output a leaf, and goes on with graph; the second pass runs up to it
only, and continues the leaf's gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import torch
from torch import nn


class Keep(Enum):
    """The two ends: the whole graph, or none of it."""

    ALL = "all"
    NOTHING = "nothing"


Kept = Keep | nn.Module
"""What a chunk keeps: everything, nothing, or what comes after the output of this module."""


@dataclass
class Cut:
    """The output of the module where a graph was cut: a leaf that collects the gradient of the kept part."""

    leaf: torch.Tensor | None = None


class _Reached(Exception):
    def __init__(self, output: torch.Tensor):
        self.output = output


def places(encoder: nn.Module) -> list[nn.Module]:
    """Modules at which a graph may be cut, in no particular order: elements of the outermost chains of blocks.

    Whether later layers really see nothing but a place's output is for the caller to check; see
    `lab.training.budget`.
    """
    modules: list[nn.Module] = []

    def walk(module: nn.Module) -> None:
        for child in module.children():
            if isinstance(child, nn.Sequential | nn.ModuleList) and len(child) > 1:
                modules.extend(child)
            else:
                walk(child)

    walk(encoder)
    return modules


@contextmanager
def cut_at(place: nn.Module) -> Iterator[Cut]:
    """Run without graph until `place` has run, with graph after it. Yields the cut, filled by the forward pass."""
    cut = Cut()
    before = torch.is_grad_enabled()

    def hook(module: nn.Module, inputs: tuple, output: torch.Tensor) -> torch.Tensor:
        torch.set_grad_enabled(before)
        cut.leaf = output.detach().requires_grad_()
        # In-place operations may follow, which a leaf does not allow.
        return cut.leaf.view_as(cut.leaf)

    handle = place.register_forward_hook(hook)
    torch.set_grad_enabled(False)
    try:
        yield cut
    finally:
        torch.set_grad_enabled(before)
        handle.remove()


def run_up_to(place: nn.Module, encoder: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The output of `place` inside `encoder(images)`; what comes after it does not run."""

    def hook(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        raise _Reached(output)

    handle = place.register_forward_hook(hook)
    try:
        encoder(images)
    except _Reached as reached:
        return reached.output
    finally:
        handle.remove()
    raise ValueError(f"The encoder does not run its module {type(place).__name__}, so its graph cannot be cut there.")
