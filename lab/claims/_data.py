"""A data set as a study wants it: which images train, choose and test, with which labels; and their frozen features."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from lab.claims._study import SEEN_CLASSES, DataSetup
from lab.core.files import cache_folder
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data import ImageSet, Split
from lab.data.images.features import Making, once, place

SIZE = 128
"""Side in pixels at which features see the images: a third of the cost of the network's own 224."""

SEEN_IMAGES, GALLERY = 6, 4
"""The `seen` protocol: classes of at least six images, four to train on and search in, one to validate, one to test.
There are at most as many classes as the embeddings have dimensions, so that anchors can start on base vectors."""


def prepared(dataset: ImageSet, task: DataSetup, seed: int) -> ImageSet:
    """Change a fresh data set in place, by the seed; returns it.

    Raises:
        ValueError: there are too few classes.
    """
    random = np.random.default_rng((seed, 77))
    if task.protocol == "seen":
        dataset.splits = _seen(dataset.labels, random)
    train, labels = dataset.splits["train"].query, dataset.labels
    classes = random.permutation(np.unique(labels[train]))
    train = train[np.isin(labels[train], classes[: max(2, round(task.classes * len(classes)))])]
    if task.shots is not None:
        members = [train[labels[train] == c] for c in np.unique(labels[train])]
        train = np.sort(np.concatenate([random.permutation(mine)[: task.shots] for mine in members]))
    dataset.splits["train"] = Split(train)
    wrong = random.permutation(train)[: round(task.wrong_labels * len(train))]
    dataset.labels = labels.copy()
    dataset.labels[wrong] = random.choice(np.unique(labels[train]), len(wrong))
    return dataset


def _seen(labels: np.ndarray, random: np.random.Generator) -> dict[str, Split]:
    """Every class in every split."""
    classes, counts = np.unique(labels, return_counts=True)
    enough = classes[counts >= SEEN_IMAGES]
    if len(enough) < 2:
        raise ValueError(f"The seen protocol needs classes of {SEEN_IMAGES} images; there are {len(enough)}.")
    chosen = random.permutation(enough)[:SEEN_CLASSES]
    drawn = np.stack([random.permutation(np.flatnonzero(labels == c))[:SEEN_IMAGES] for c in chosen])
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
    images = yield from embed(encoder, loader, np.arange(len(dataset)), what="images once", batch_size=64)
    return EmbeddingSet(images.vectors.astype(np.float16).astype(np.float32), images.labels, images.items)
