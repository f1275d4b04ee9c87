"""BatchNorm under small batches."""

from __future__ import annotations

from collections.abc import Iterator

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
