"""Features of all images of a run's data set, of all splits, that no training on their labels has changed.

The search for label errors and copies uses these and not the run's own embeddings: a network that was trained on a
wrong label places the image with the class of that label. The network is the pretrained EfficientNet-Lite0 where its
weights are installed, with features of all its levels, else the run's own encoder as it was before training. For a run
without pictures or encoder, its stored embeddings are used.

They are stored beside the runs, so that runs on the same images share them; see `lab.data.images.features`.
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
"""Principal components that are kept of an image."""
SIDES = (64, 96, 128)
"""Pixels at which the pretrained network sees images, the largest that the images have: it was made for 224, which
takes three times as long as 128."""
SAMPLED = 12
"""Images whose size is measured."""


class Levels(nn.Module):
    """Compute features of images [n 3 h w] at each level of a pretrained network, [n d].

    The mean and the spread of every stage, which describe colours and textures, the fifth on a grid of 3 x 3, which
    describes the position of objects, and the mean of the last level, which describes the objects.
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
        squares = torch.cat([seen.square().mean((-2, -1)) for seen in stages], 1)  # `std` takes ten times as long
        spreads = (squares - means.square()).clamp(min=0).sqrt()
        grid = nn.functional.adaptive_avg_pool2d(stages[4], 3).flatten(1)
        return torch.cat([means, spreads, grid, last.mean((-2, -1))], 1)


PARTS = (784, 784, 1008)
"""Widths of means, spreads and grid; what follows is the last level."""


def principal(rows: np.ndarray, parts: tuple[int, ...]) -> np.ndarray:
    """Return the first `WIDTH` principal components of features [n d], after each part of the columns got equal weight.

    parts: widths of the first parts; the remaining columns are one more part.
    """
    from sklearn.decomposition import PCA

    rows = rows - rows.mean(0)
    ends = np.cumsum((0, *parts))
    for level, part in enumerate(np.split(rows, ends[1:], axis=1)):
        if level < 2 and parts:  # stages differ in scale
            part /= part.std(0) + 1e-6
        part /= max(float(np.linalg.norm(part)) / len(rows) ** 0.5, 1e-12)
    width = min(WIDTH, *rows.shape)
    return PCA(width, svd_solver="randomized", random_state=0).fit_transform(rows).astype(np.float32)


def features(run: Run) -> Generator[Record, None, EmbeddingSet]:
    """Return features of every image that can be read, computed unless they are stored; yields progress.

    Returns:
        vectors float32 [n d] of any length, the data set's present labels, and the positions of the images.

    Raises:
        ValueError: the images are gone, or there is neither an encoder nor a stored embedding.
        GuestRefused: they have to be computed, and a guest asks.
    """
    embedded = kept(run)
    if embedded is not None:
        return embedded
    images = run.dataset()
    pictured = images.root is not None or not isinstance(images, OfList)
    if not pictured or (not has_network() and run.config.encoder.outside):
        return stored(run)
    files.check_allowed()
    making = of_images(images, None if has_network() else run)
    return (yield from kept_features.once(_file(run, images), images, making))


def of_images(images: ImageSet, run: Run | None = None) -> Generator[Record, None, EmbeddingSet]:
    """Compute such features of any images without storing them.

    run: its untrained encoder replaces the pretrained network.
    """
    from lab.data.images import transforms
    from lab.data.images.loading import Loader
    from lab.evaluation.embedding import embed
    from lab.kernels.devices import device_or_cpu
    from lab.runs.building.parts import encoder_and_loss

    if run is None:
        network: Any = Levels()
        side = side_of(images)
    else:
        network, _ = encoder_and_loss(run.config, num_classes=2)
        side = run.config.augmentation.knobs.size or network.input_size
    transform = transforms.testing(side, mean=network.mean, std=network.std, resize=side, squash=True)
    network.to(device_or_cpu("auto")).to(memory_format=torch.channels_last)
    embedded = yield from embed(network, Loader(images, transform), np.arange(len(images)), batch_size=64)
    rows = principal(embedded.vectors, PARTS if run is None else ())
    return EmbeddingSet(rows, embedded.labels, embedded.items)


def kept(run: Run) -> EmbeddingSet | None:
    """Return the stored features of these very images; None if there are none, or their file is damaged.

    Raises:
        ValueError: the images are gone.
    """
    images = run.dataset()
    return kept_features.kept(_file(run, images), images)


def stored(run: Run) -> EmbeddingSet:
    """Return the run's own embeddings of all its splits, every image once.

    Raises:
        ValueError: no split has been embedded.
    """
    sets = []
    for split in run.splits:
        sets.append(run.embeddings(split, "query"))
        gallery = run.embeddings(split, "gallery")
        if gallery is not None:
            sets.append(gallery)
    if not sets:
        raise ValueError(f"Run {run.name} holds neither an encoder nor embeddings of its images.")
    items, first = np.unique(np.concatenate([part.items for part in sets]), return_index=True)
    vectors = np.concatenate([part.vectors for part in sets])
    labels = np.concatenate([part.labels for part in sets])
    return EmbeddingSet(vectors[first], labels[first], items)


def side_of(images: ImageSet) -> int:
    """Return the side that fits typical images of a set; images that cannot be read are skipped."""
    from lab.data.images.reading import ImageError

    sides = []
    for item in np.unique(np.linspace(0, len(images) - 1, SAMPLED).astype(int)).tolist():
        with suppress(ImageError):
            sides.append(min(images.load(item).size))
    typical = np.median(sides or [0])
    return max((side for side in SIDES if side <= typical), default=SIDES[0])


def _file(run: Run, images: ImageSet) -> Path:
    network = "pretrained" if has_network() else repr(run.config.encoder.as_dict())
    return kept_features.place(run.path.parent, network, images)
