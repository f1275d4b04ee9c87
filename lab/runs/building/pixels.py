"""An encoder together with what comes before it: from pixels to embeddings in one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from lab.encoders import Encoder


class FromPixels(nn.Module):
    """From the pixels of square images, uint8 [n 3 s s], to embeddings [n d]: scaled and normalised as the encoder
    wants them. Resizing and cropping to s pixels come before it; see `lab.runs.building.parts.testing_transform`."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder
        self.mean: torch.Tensor
        self.std: torch.Tensor
        for name in ("mean", "std"):
            self.register_buffer(name, torch.tensor(getattr(encoder, name)).reshape(1, 3, 1, 1), persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.encoder((images.float() / 255 - self.mean) / self.std)
