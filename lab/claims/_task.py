"""Emoji-7 as a study wants it: which images train, choose and test, and with which labels."""

from __future__ import annotations

import numpy as np

from lab.claims._study import SEEN_CLASSES, Task
from lab.data import ImageSet, Split

SEEN_IMAGES, GALLERY = 6, 4
"""The `seen` protocol: classes of at least six images, four to train on and search in, one to validate, one to test.
There are at most as many classes as the embeddings have dimensions, so that anchors can start on base vectors."""


def prepared(dataset: ImageSet, task: Task, seed: int) -> ImageSet:
    """Change a fresh data set in place, by the seed; returns it.

    Raises:
        ValueError: there are too few classes.
    """
    random = np.random.default_rng((seed, 77))
    if task.protocol == "seen":
        dataset.splits = _seen(dataset.labels, random)
    train = dataset.splits["train"].query
    train = _fewer_classes(train, dataset.labels, task.classes, random)
    train = _fewer_images(train, dataset.labels, task.shots, random)
    dataset.splits["train"] = Split(train)
    dataset.labels = _mislabelled(train, dataset.labels, task.wrong_labels, random)
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


def _fewer_classes(train: np.ndarray, labels: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    classes = random.permutation(np.unique(labels[train]))
    return train[np.isin(labels[train], classes[: max(2, round(share * len(classes)))])]


def _fewer_images(train: np.ndarray, labels: np.ndarray, shots: int | None, random: np.random.Generator) -> np.ndarray:
    if shots is None:
        return train
    classes = labels[train]
    return np.sort(np.concatenate([random.permutation(train[classes == c])[:shots] for c in np.unique(classes)]))


def _mislabelled(train: np.ndarray, labels: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Labels in which a share of the training images has one drawn at random from the training classes."""
    noisy = labels.copy()
    wrong = random.permutation(train)[: round(share * len(train))]
    noisy[wrong] = random.choice(np.unique(labels[train]), len(wrong))
    return noisy
