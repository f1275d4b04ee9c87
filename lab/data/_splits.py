"""Which classes, or which images of each class, train, validate and test."""

from __future__ import annotations

import numpy as np

from lab.data._base import Split


def class_disjoint(labels: np.ndarray, seed: int, test: float = 0.5, validation: float = 0.5) -> dict[str, Split]:
    """Share the classes out by seed.

    Args:
        labels: int64 [n].
        test: fraction of all classes that test.
        validation: fraction of the remaining classes that validate instead of training.

    Returns:
        `train`, `validation` (absent when its fraction rounds to no class) and `test`.
    """
    classes = np.unique(labels)
    shuffled = classes[np.random.default_rng(seed).permutation(len(classes))]
    seen = len(classes) - round(test * len(classes))
    train = seen - round(validation * seen)
    return by_classes(labels, {"train": shuffled[:train], "validation": shuffled[train:seen], "test": shuffled[seen:]})


def by_classes(labels: np.ndarray, classes: dict[str, np.ndarray]) -> dict[str, Split]:
    """The split that each class belongs to; splits without an image are absent."""
    splits = {name: Split(np.flatnonzero(np.isin(labels, members))) for name, members in classes.items()}
    return {name: split for name, split in splits.items() if len(split)}


def hold_out(labels: np.ndarray, train: np.ndarray, seed: int, validation: float) -> dict[str, Split]:
    """Share the classes of a published training split: `train` and, if the fraction asks for one, `validation`.

    Args:
        labels: int64 [n] of the whole set.
        train: int64 [t], images of the published training split.
        validation: fraction of its classes that validate instead of training.
    """
    inner = class_disjoint(labels[train], seed, test=0.0, validation=validation)
    return {name: Split(train[split.query]) for name, split in inner.items()}


def by_image(labels: np.ndarray, items: np.ndarray, seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Share the images of each class out: those that stay, and those that are held out, int64 ascending.

    Args:
        labels: int64 [n] of the whole set. items: int64 [m], the images to share. share: of each class, held out.
    """
    kept, held = [], []
    for label in np.unique(labels[items]):
        mine = items[labels[items] == label]
        mine = np.random.default_rng((seed, label)).permutation(mine)
        out = round(share * len(mine))
        held.append(mine[:out])
        kept.append(mine[out:])
    return np.sort(np.concatenate(kept)), np.sort(np.concatenate(held))
