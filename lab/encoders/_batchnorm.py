"""BatchNorm under small batches and under recomputation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def layers(module: nn.Module) -> Iterator[_BatchNorm]:
    """Every BatchNorm layer inside a module."""
    return (layer for layer in module.modules() if isinstance(layer, _BatchNorm))


def freeze(module: nn.Module, affine: bool) -> None:
    """Use the stored statistics (000, section 4.2; 002, reality check); with `affine`, scale and shift stay, too.

    The papers call the layers frozen; the code of 000 and of 001 fixes their statistics and goes on learning the rest.
    """
    for layer in layers(module):
        layer.eval()
        if affine:
            layer.requires_grad_(False)


class OncePerBatch:
    """Keeps running statistics from counting a batch twice.

    Gradient checkpointing runs the forward pass again during backward. From `recompute` to `restart`, layers normalise
    as before and leave their statistics alone.
    """

    def __init__(self, module: nn.Module):
        self.layers = [(layer, layer.momentum) for layer in layers(module)]
        self.recomputing = False
        for layer, _ in self.layers:
            # Before, not after: recomputation breaks off inside the last layer that backward needs.
            layer.register_forward_pre_hook(self._uncount)

    def restart(self) -> None:
        """A forward pass begins: count its batch."""
        self.recomputing = False
        for layer, momentum in self.layers:
            layer.momentum = momentum

    def recompute(self) -> None:
        """Backward begins: forward passes until `restart` repeat batches that were counted."""
        self.recomputing = True
        for layer, _ in self.layers:
            layer.momentum = 0.0

    def _uncount(self, layer: Any, *_: Any) -> None:
        if self.recomputing and layer.training and layer.num_batches_tracked is not None:
            layer.num_batches_tracked -= 1
