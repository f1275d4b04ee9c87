"""A small residual CNN that trains on a CPU in a minute or two."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from lab.core.knobs import knob
from lab.encoders._base import Encoder, EncoderKnobs, Pool, Pooling


class SmallCNN(Encoder):
    """A strided convolution and two residual stages with BatchNorm, pooled to an embedding; about 300,000 weights.

    Made for 32 x 32 pixels; larger images work and cost in proportion to their area. On Emoji-7 (test half), 568 steps
    of batch 128 with a contrastive loss take 34 seconds of one CPU core and reach .66 r@1 and .35 MAP@R.
    """

    class Knobs(EncoderKnobs):
        pooling: Pooling = knob("gem", "Pooling of the last feature map to one vector.", source="DML deck, tricks")
        width: int = knob(
            32, "Channels of the first stage; the later ones have two and four times as many.", ge=4, scale="log"
        )

    input_size = 32

    def __init__(self, **knobs: Any):
        super().__init__(**knobs)
        width = self.knobs.width
        stages = (
            nn.Sequential(*convolution(3, width, stride=2)),
            Block(width, 2 * width, stride=2),
            Block(2 * width, 4 * width, stride=2),
        )
        self._assemble(Stages(stages, self.knobs.checkpointing), Pool(self.knobs.pooling), 4 * width, pretrained=False)
        self.to(memory_format=torch.channels_last)


class Stages(nn.Module):
    """Stages one after the other, in channels-last order, which halves the time of a step on a CPU."""

    def __init__(self, stages: tuple[nn.Module, ...], checkpointing: bool):
        super().__init__()
        self.stages, self.checkpointing = nn.ModuleList(stages), checkpointing

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        features = features.contiguous(memory_format=torch.channels_last)
        for stage in self.stages:
            if self.checkpointing and self.training:
                features = checkpoint(stage, features, use_reentrant=False)
            else:
                features = stage(features)
        return features


class Block(nn.Module):
    """Two convolutions and a shortcut, [n i h w] -> [n o h/stride w/stride]."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = nn.Sequential(*convolution(inputs, outputs, stride))
        self.second = nn.Sequential(*convolution(outputs, outputs)[:-1])
        self.shortcut = nn.Sequential(
            nn.AvgPool2d(stride, ceil_mode=True), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(self.first(features)) + self.shortcut(features))


def convolution(inputs: int, outputs: int, stride: int = 1) -> tuple[nn.Module, ...]:
    """3 x 3 convolution, BatchNorm, ReLU."""
    return (
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )
