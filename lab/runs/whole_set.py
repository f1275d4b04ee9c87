"""Features of all images of a run's data set, whatever their split, that no training on their labels has changed.

Label errors and copies are looked for by these and not by the run's own embeddings: a network that was trained on a
wrong label places the image with the class of that label. The network is the pretrained EfficientNet-Lite0 where its
weights are installed, seen at all its levels, else the run's own encoder as it was before training. Runs whose pictures
or encoder are not here lend the embeddings that they stored.

They are kept beside the runs, so that runs on the same images share them; see `lab.data.images.features`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lab.core import files
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data.images import features as kept_features
from lab.data.images.listing import OfList
from lab.runs.building.user_images import has_network
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet

WIDTH = 256
"""Numbers that are kept of an image: its principal components."""
SIDES = (64, 96, 128)
"""Pixels that images are shown to the pretrained network with, the largest that they have: it was made for 224, which
takes three times as long as 128."""
SAMPLED = 12
"""Images that are measured for their size."""


class Levels(nn.Module):
    """Images [n 3 h w] to what a pretrained network sees at each of its levels [n d].

    The mean and the spread of every stage, which know colours and textures, the fifth on a grid of 3 x 3, which knows
    where things are, and the mean of the last one, which knows what they are.
    """

    def __init__(self) -> None:
        super().__init__()
        import lab.encoders

        self.encoder: Any = lab.encoders.create("efficientnet_lite0", dim=None, normalise=False)
        self.mean, self.std = self.encoder.mean, self.encoder.std

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        last, maps = self.encoder.backbone.model.forward_intermediates(images, extra_blocks=True)
        stages = maps[1:]  # the first map is the stem
        means = torch.cat([seen.mean((-2, -1)) for seen in stages], 1)
        # `std` takes ten times as long
        squares = torch.cat([seen.square().mean((-2, -1)) for seen in stages], 1)
        spreads = (squares - means.square()).clamp(min=0).sqrt()
        grid = nn.functional.adaptive_avg_pool2d(stages[4], 3).flatten(1)
        return torch.cat([means, spreads, grid, last.mean((-2, -1))], 1)


PARTS = (784, 784, 1008)
"""Widths of means, spreads and grid; what follows is the last level."""


def principal(rows: np.ndarray, parts: tuple[int, ...]) -> np.ndarray:
    """The first `WIDTH` principal components of features [n d], after each part of the columns got the same weight.

    parts: widths of the first parts; what follows is one more.
    """
    from sklearn.decomposition import PCA

    rows = rows - rows.mean(0)
    ends = np.cumsum((0, *parts))
    for level, part in enumerate(np.split(rows, ends[1:], axis=1)):
        if level < 2 and parts:  # stages differ in scale
            part /= part.std(0) + 1e-6
        part /= max(float(np.linalg.norm(part)) / len(rows) ** 0.5, 1e-12)
    width = min(WIDTH, *rows.shape)
    return (
        PCA(width, svd_solver="randomized", random_state=0).fit_transform(rows).astype(np.float32)
    )


def features(run: Run) -> Generator[Record, None, EmbeddingSet]:
    """Features of every image that can be read, made unless they are kept; yields progress.

    Returns:
        vectors float32 [n d] of any length, labels as the run's data set says them now, and the images' numbers.

    Raises:
        ValueError: the images are gone, or there is neither an encoder nor a stored embedding.
        GuestRefused: they have to be made, and a guest asks.
    """
    if (known := kept(run)) is not None:
        return known
    images = run.dataset()
    pictured = images.root is not None or not isinstance(images, OfList)
    if not pictured or (not has_network() and run.config.encoder.outside):
        return stored(run)
    files.check_allowed()
    making = of_images(images, None if has_network() else run)
    return (yield from kept_features.once(_file(run, images), images, making))


def of_images(images: ImageSet, run: Run | None = None) -> Generator[Record, None, EmbeddingSet]:
    """The same of any images, not kept. run: whose untrained encoder is taken instead of the pretrained network."""
    from lab.data.images import transforms
    from lab.data.images.loading import Loader
    from lab.evaluation.embedding import embed
    from lab.kernels.devices import device_or_cpu
    from lab.runs.building.parts import encoder_and_loss

    if run is None:
        network, side = Levels(), side_of(images)
    else:
        network, _ = encoder_and_loss(run.config, num_classes=2)
        side = run.config.augmentation.knobs.size or network.input_size
    seen = transforms.testing(side, mean=network.mean, std=network.std, resize=side, squash=True)
    network.to(device_or_cpu("auto")).to(memory_format=torch.channels_last)
    made = yield from embed(network, Loader(images, seen), np.arange(len(images)), batch_size=64)
    rows = principal(made.vectors, PARTS if run is None else ())
    return EmbeddingSet(rows, made.labels, made.items)


def kept(run: Run) -> EmbeddingSet | None:
    """Features that were made before of these very images; None where there are none, or their file is damaged.

    Raises:
        ValueError: the images are gone.
    """
    images = run.dataset()
    return kept_features.kept(_file(run, images), images)


def stored(run: Run) -> EmbeddingSet:
    """The run's own embeddings of all its splits, every image once.

    Raises:
        ValueError: no split has been embedded.
    """
    parts = [run.embeddings(split, "query") for split in run.splits]
    galleries = [run.embeddings(split, "gallery") for split in run.splits]
    known = [*parts, *(one for one in galleries if one is not None)]
    if not known:
        raise ValueError(f"Run {run.name} holds neither an encoder nor embeddings of its images.")
    items, first = np.unique(np.concatenate([one.items for one in known]), return_index=True)
    vectors, labels = (
        np.concatenate([getattr(one, field) for one in known]) for field in ("vectors", "labels")
    )
    return EmbeddingSet(vectors[first], labels[first], items)


def side_of(images: ImageSet) -> int:
    """What fits typical images of a set; those that cannot be read are passed over."""
    from lab.data.images.reading import ImageError

    sides = []
    for item in np.unique(np.linspace(0, len(images) - 1, SAMPLED).astype(int)).tolist():
        with suppress(ImageError):
            sides.append(min(images.load(item).size))
    return max((one for one in SIDES if one <= np.median(sides or [0])), default=SIDES[0])


def _file(run: Run, images: ImageSet) -> Path:
    network = "pretrained" if has_network() else repr(run.config.encoder.as_dict())
    return kept_features.place(run.path.parent, network, images)
