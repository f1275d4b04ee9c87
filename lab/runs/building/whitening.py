"""The last layer started from whitening (000, section 4.2): a linear map that makes matching pairs lie close."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import nn

from lab.core.records import Record
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.evaluation.embedding import embed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.evaluation.whitening import learnt
from lab.runs.building.parts import testing_loader, workers_of
from lab.runs.config import RunConfig
from lab.training.loop import Parts

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.encoders import Encoder


class _Pooled(nn.Module):
    """What the last layer gets: pooled features, normalised as the encoder does it."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.encoder.head.norm(self.encoder.head.pool(self.encoder.backbone(images)))


def start_from_whitening(config: RunConfig, dataset: ImageSet, parts: Parts) -> Generator[Record, None, None]:
    """Set the last layer to the whitening of pooled features of `training.whitening` training images; yields progress.

    Whole classes are taken, so that there are pairs that match. Every process of a run computes the same.

    Raises:
        ValueError: there is no last layer, or the images are too few or too alike.
    """
    encoder = cast("Encoder", parts.encoder)  # of a run, not of a study over features
    layer = encoder.head.embed
    if not isinstance(layer, nn.Linear):
        raise ValueError("training: whitening starts the last layer, which encoder.dim none leaves out; give a width.")
    items = dataset.splits["train"].items
    items = items[np.argsort(dataset.labels[items], kind="stable")][: config.training.knobs.whitening]
    whole = config.augmentation.knobs.crop == "whole"
    loader = testing_loader(config, dataset, encoder)
    if whole:
        size = config.augmentation.knobs.size or encoder.input_size
        transform = transforms.whole(size, encoder.mean, encoder.std)
        loader = Loader(dataset, transform, workers=workers_of(config, dataset, size, 1))
    seen = yield from embed(
        _Pooled(encoder),
        loader,
        items,
        what="images to whiten by",
        batch_size=1 if whole else config.evaluation.knobs.batch_size,
        precision=MixedPrecision(config.training.knobs.precision, parts.device),
    )
    whitening = learnt(seen.vectors, seen.labels, layer.out_features)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(whitening.projection.T.copy()))
        layer.bias.copy_(torch.from_numpy(-whitening.mean @ whitening.projection))
