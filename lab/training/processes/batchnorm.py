"""Batch normalisation over the batch of all processes, in forward and backward, on CPUs and GPUs.

torch's own SyncBatchNorm works on GPUs only and replaces the layers; here the layers stay, and with them their names in
checkpoints. One all-reduce of three sums per layer forward and one backward.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from lab.kernels.gathering import sum_of_all


def share(encoder: nn.Module) -> int:
    """Make every batch normalisation of the encoder in training mode see all processes; returns how many layers can.

    In evaluation mode, and if it is frozen, a layer works as before. All processes have to run the same forward
    passes; each may have another number of images.
    """
    layers = [layer for layer in encoder.modules() if isinstance(layer, _BatchNorm)]
    for layer in layers:
        if not is_shared(layer):
            layer.forward = MethodType(_forward, layer)  # type: ignore[method-assign]
    return len(layers)


def normalises_over_batch(module: nn.Module) -> bool:
    """Return whether a module makes an image's embedding depend on the other images of the chunk."""
    return isinstance(module, _BatchNorm) and module.training


def is_shared(layer: nn.Module) -> bool:
    """Return whether a layer normalises over all processes."""
    return getattr(layer.forward, "__func__", None) is _forward


def _forward(layer: Any, images: torch.Tensor) -> torch.Tensor:
    if not layer.training:
        return type(layer).forward(layer, images)
    wide = images.float() if images.element_size() < 4 else images
    across = [axis for axis in range(wide.ndim) if axis != 1]
    count = wide.new_full((1,), wide.numel() / wide.shape[1])
    sums = torch.cat([wide.sum(across), count])
    total = sum_of_all(sums)
    size = total[-1].detach()
    shape = [1, -1] + [1] * (wide.ndim - 2)
    mean = total[:-1] / size
    # a second sum, of squares about the mean: no digits are lost where it is large
    centred = wide - mean.view(shape)
    variance = sum_of_all(centred.square().sum(across)) / size
    _remember(layer, mean.detach(), variance.detach(), float(size))
    normal = centred * torch.rsqrt(variance + layer.eps).view(shape)
    if layer.weight is not None:
        normal = normal * layer.weight.view(shape) + layer.bias.view(shape)
    normal = normal.to(images.dtype)
    for after in ("drop", "act"):  # further steps of timm's layers
        normal = getattr(layer, after, nn.Identity())(normal)
    return normal


@torch.no_grad()
def _remember(layer: Any, mean: torch.Tensor, variance: torch.Tensor, size: float) -> None:
    """Update the running statistics as torch does, with the unbiased variance."""
    if not layer.track_running_stats or layer.running_mean is None:
        return
    layer.num_batches_tracked += 1
    pace = 1 / float(layer.num_batches_tracked) if layer.momentum is None else layer.momentum
    layer.running_mean.lerp_(mean.to(layer.running_mean), pace)
    layer.running_var.lerp_((variance * size / max(1.0, size - 1)).to(layer.running_var), pace)
