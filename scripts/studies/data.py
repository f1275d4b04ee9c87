"""The images as a study wants them: which train, choose and test, with which labels; and their frozen features."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from lab.core.files import cache_folder
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data import ImageSet, Split
from lab.data.images.features import Making, once, place
from scripts.studies.study import SEEN_CLASSES, SPLIT, Protocol

SIZE = 128
"""Side in pixels at which features see the images: a third of the cost of the network's own 224."""

SEEN_IMAGES, GALLERY = 6, 4
"""The `seen` protocol: classes of at least six images, four to train on and search in, one to validate, one to test."""

SHARES = 0.3, 0.5
"""The `few` protocol: so many of the classes train, up to the second share they train or validate; the rest tests."""


def prepared(dataset: ImageSet, protocol: Protocol) -> ImageSet:
    """Change a fresh data set in place, always in the same way; returns it.

    Args:
        protocol: `unseen` keeps the splits of the data set, whose test classes nothing is trained or chosen on; `few`
            does so with the subgroups of Unicode for classes, few of many images each; `seen` tests new images of the
            training classes, searched among the training images, as in 003.

    Raises:
        ValueError: there are too few classes.
    """
    random = np.random.default_rng((SPLIT, 77))
    if protocol == "seen":
        dataset.splits = _seen(dataset.labels, random)
    elif protocol == "few":
        dataset.labels = np.unique(dataset.attributes["subgroup"], return_inverse=True)[1]
        dataset.splits = _few(dataset.labels, random)
    return dataset


def _few(labels: np.ndarray, random: np.random.Generator) -> dict[str, Split]:
    """Classes of at least eight images, each in one split."""
    classes, counts = np.unique(labels, return_counts=True)
    classes = random.permutation(classes[counts >= 8])
    train, validation = (round(share * len(classes)) for share in SHARES)
    parts = {
        "train": classes[:train],
        "validation": classes[train:validation],
        "test": classes[validation:],
    }
    return {name: Split(np.flatnonzero(np.isin(labels, those))) for name, those in parts.items()}


def _seen(labels: np.ndarray, random: np.random.Generator) -> dict[str, Split]:
    """Every class in every split."""
    classes, counts = np.unique(labels, return_counts=True)
    enough = classes[counts >= SEEN_IMAGES]
    if len(enough) < SEEN_CLASSES:
        raise ValueError(
            f"The seen protocol needs {SEEN_CLASSES} classes of {SEEN_IMAGES} images; got {len(enough)}."
        )
    chosen = random.permutation(enough)[:SEEN_CLASSES]
    drawn = np.stack(
        [random.permutation(np.flatnonzero(labels == c))[:SEEN_IMAGES] for c in chosen]
    )
    gallery = np.sort(drawn[:, :GALLERY].ravel())
    return {
        "train": Split(gallery),
        "validation": Split(np.sort(drawn[:, GALLERY]), gallery),
        "test": Split(np.sort(drawn[:, GALLERY + 1]), gallery),
    }


def features(dataset: ImageSet, root: Path | None = None) -> Generator[Record, None, np.ndarray]:
    """Pooled EfficientNet-Lite0 features float32 [n 1280] of all images of a data set, computed once; yields progress
    while there are none on disk.

    Kept as half-precision numbers, so that a sweep that goes on sees the very features it began with.

    Raises:
        ValueError: the extra `pretrained` is not installed.
    """
    path = place(root or cache_folder(), f"efficientnet_lite0 {SIZE} half", dataset)
    return (yield from once(path, dataset, _made(dataset))).vectors


def _made(dataset: ImageSet) -> Making:
    import lab.encoders
    from lab.data.images import transforms
    from lab.data.images.loading import Loader
    from lab.evaluation.embedding import embed

    encoder = lab.encoders.create("efficientnet_lite0", dim=None, normalise=False)
    loader = Loader(dataset, transforms.testing(SIZE, encoder.mean, encoder.std))
    images = yield from embed(
        encoder, loader, np.arange(len(dataset)), what="images once", batch_size=64
    )
    return EmbeddingSet(
        images.vectors.astype(np.float16).astype(np.float32), images.labels, images.items
    )
