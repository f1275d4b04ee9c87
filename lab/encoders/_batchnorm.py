"""BatchNorm under small batches and under recomputation."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def layers(module: nn.Module) -> Iterator[_BatchNorm]:
    """Every BatchNorm layer inside a module."""
    return (layer for layer in module.modules() if isinstance(layer, _BatchNorm))


def freeze(module: nn.Module) -> None:
    """Use the stored statistics and stop learning scale and shift (000, section 5.2; 002, reality check)."""
    for layer in layers(module):
        layer.eval().requires_grad_(False)


def untrack(module: nn.Module) -> None:
    """Normalise by the batch as before, but leave the running statistics alone.

    Gradient checkpointing runs the forward pass again during backward; without this each batch would count twice.
    """
    for layer in layers(module):
        layer.track_running_stats = False


def track(module: nn.Module) -> None:
    """Undo `untrack`. Layers that were built without running statistics stay so."""
    for layer in layers(module):
        layer.track_running_stats = layer.running_mean is not None
