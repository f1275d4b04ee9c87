"""Which training classes validate in a fold, and which images of a class are its shots. Pure functions of a seed."""

from __future__ import annotations

import numpy as np


def fold_of(classes: np.ndarray, folds: int, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Share classes out into parts of equal size, give or take one, and hold one part back.

    Args:
        classes: int64 [c], at least `folds` different ones.
        fold: which part is held back, 0..folds-1.

    Returns:
        the classes of the other parts, and those of this one.
    """
    parts = np.array_split(np.random.default_rng((seed, folds)).permutation(np.unique(classes)), folds)
    return np.concatenate(parts[:fold] + parts[fold + 1 :]), parts[fold]


def few(labels: np.ndarray, items: np.ndarray, shots: int, seed: int) -> np.ndarray:
    """At most `shots` images of each class, drawn by seed, ascending; more shots keep the images of fewer.

    Args:
        labels: int64 [n] of the whole set.
        items: int64 [t], the images to draw from.
    """
    kept = [
        np.random.default_rng((seed, label)).permutation(items[labels[items] == label])[:shots]
        for label in np.unique(labels[items])
    ]
    return np.sort(np.concatenate(kept))
