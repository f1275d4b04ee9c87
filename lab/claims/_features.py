"""Frozen EfficientNet-Lite0 features of every image, computed once and kept on disk."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.core.files import cache_folder
from lab.core.records import Embedding

if TYPE_CHECKING:
    from lab.data import ImageSet


SIZE = 128
"""Side in pixels at which the images are seen: a third of the cost of the network's own 224."""


def features(dataset: ImageSet, folder: Path | None = None) -> Generator[Embedding, None, np.ndarray]:
    """Pooled features float32 [n 1280] of all images of a data set; yields progress while there is none on disk.

    Kept as half-precision numbers, so that a sweep that goes on sees the very features it began with.

    Raises:
        ValueError: the extra `pretrained` is not installed, or the kept file is of other images.
    """
    path = (folder or cache_folder()) / f"{dataset.name}-efficientnet_lite0-{SIZE}.npy"
    if not path.is_file():
        yield from _computed(dataset, path)
    kept = np.load(path, allow_pickle=False)
    if kept.shape[:1] != (len(dataset),):
        raise ValueError(f"{path} holds {len(kept)} rows, but {dataset.name} has {len(dataset)} images; delete it.")
    return kept.astype(np.float32)


def _computed(dataset: ImageSet, path: Path) -> Generator[Embedding, None, None]:
    import lab.encoders
    from lab.core.files import replacing
    from lab.data.images import transforms
    from lab.data.images.loading import Loader
    from lab.evaluation.embedding import embed

    encoder = lab.encoders.create("efficientnet_lite0", dim=None, normalise=False)
    loader = Loader(dataset, transforms.testing(SIZE, encoder.mean, encoder.std))
    images = yield from embed(encoder, loader, np.arange(len(dataset)), what="images once", batch_size=64)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.save(file, images.vectors.astype(np.float16))
