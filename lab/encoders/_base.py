"""What every image encoder is: images in, unit rows out, and what it wants its images to look like."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from lab.encoders import _batchnorm
from lab.knobs import Knobs


class Encoder(nn.Module):
    """Maps images to embeddings. An entry declares `Knobs` and builds `features` and `head`.

    Attributes:
        dim: width of the embedding.
        input_size: side of the square images it was made for, in pixels; others work too unless the entry says so.
        mean, std: three numbers each that its input is normalised with.
        features: module, images [n 3 h w] to a feature map [n c h' w'] (or whatever `head` reads).
        head: module, feature map to embeddings [n d].
    """

    Knobs: type[Knobs] = Knobs
    mean: ClassVar[tuple[float, float, float]] = (0.5, 0.5, 0.5)
    std: ClassVar[tuple[float, float, float]] = (0.5, 0.5, 0.5)
    dim: int
    input_size: int
    features: nn.Module
    head: nn.Module

    def __init__(self, **knobs):
        super().__init__()
        self.knobs = type(self).Knobs(**knobs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Embed normalised images [n 3 h w]; returns [n d], unit rows if the knob `normalise` is on (the default).

        Raises:
            ValueError: the images have another shape.
        """
        if images.ndim != 4 or images.shape[1] != 3:
            raise ValueError(f"{type(self).__name__} needs images [n 3 h w], got {list(images.shape)}.")
        _batchnorm.track(self)
        embeddings = self.head(self.features(images))
        if getattr(self.knobs, "checkpointing", False) and embeddings.requires_grad:
            embeddings.register_hook(lambda _: _batchnorm.untrack(self))
        return embeddings

    def train(self, mode: bool = True) -> Encoder:
        """As `nn.Module.train`, except that frozen BatchNorm layers stay in evaluation mode."""
        super().train(mode)
        if getattr(self.knobs, "freeze_batchnorm", False):
            _batchnorm.freeze(self)
        return self
