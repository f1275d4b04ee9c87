"""Training sets made worse on purpose: wrong labels, foreign images, fewer classes, a long tail. 004, figure 6.

Pure functions of labels and a seed, but for the listing of a folder; more noise keeps what less noise did.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from lab.core.knobs import HasKnobs, knob
from lab.data.images.folders import list_images


class NoiseKnobs(HasKnobs):
    """What a run's training images lack or have wrong. Test images keep their labels, so scores are of clean labels."""

    keep_classes: float = knob(
        "Share of the training classes that are kept.",
        default=1.0,
        gt=0,
        le=1,
        source="Contextual, figure 6",
    )
    kept: Literal["first", "drawn"] = knob(
        "Which classes are kept: the first ones, or some drawn by noise_seed.", default="first"
    )
    imbalance: float = knob(
        "Long tail: the most frequent class keeps all of its training images, the rarest one in this many, the others "
        "shares that fall by a constant factor.",
        default=1.0,
        ge=1,
        le=1000,
        scale="log",
        source="Cui et al. 2019",
    )
    label_noise: float = knob(
        "Share of the training images with a label drawn from all training classes.",
        default=0.0,
        ge=0,
        le=1,
        source="Contextual, figure 6",
    )
    image_noise: float = knob(
        "Share of the training images that are replaced by images of noise_folder.",
        default=0.0,
        ge=0,
        le=1,
        source="Contextual, figure 6",
    )
    noise_folder: str | None = knob(
        "Folder of foreign images for image_noise; leave it as it is while a run may be resumed.",
        default=None,
        path=True,
    )
    noise_seed: int = knob(
        "Random seed of the noise and of the classes that it affects.", default=0, ge=0
    )


def kept_classes(
    classes: np.ndarray, share: float, kept: Literal["first", "drawn"], seed: int
) -> np.ndarray:
    """Return at least two of the classes, int64 [c]: the first ones, or some drawn by seed."""
    order = classes if kept == "first" else np.random.default_rng((seed, 1)).permutation(classes)
    return order[: max(2, round(share * len(classes)))]


def long_tail(labels: np.ndarray, items: np.ndarray, imbalance: float, seed: int) -> np.ndarray:
    """Return some images of every class, ascending, in a long tail.

    One drawn class keeps all its images, another one 1 / imbalance of them, and the others shares in between that fall
    by a constant factor.

    Args:
        labels: int64 [n] of the whole set.
        items: int64 [t], the images to draw from; every class keeps one at least.
    """
    random = np.random.default_rng((seed, 2))
    classes = random.permutation(np.unique(labels[items]))
    falling = imbalance ** -np.linspace(0, 1, len(classes))
    parts = []
    for label, share in zip(classes, falling, strict=True):
        members = np.random.default_rng((seed, 2, int(label))).permutation(
            items[labels[items] == label]
        )
        parts.append(members[: max(1, round(share * len(members)))])
    return np.sort(np.concatenate(parts))


def relabelled(labels: np.ndarray, items: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return labels, int64 [n], in which that share of `items` has a label drawn from all their classes; a drawn label
    may be the true one."""
    random = np.random.default_rng((seed, 3))
    order = random.permutation(items)
    drawn = random.choice(np.unique(labels[items]), len(items))
    count = round(share * len(items))
    noisy = labels.copy()
    noisy[order[:count]] = drawn[:count]
    return noisy


def replaced(
    items: np.ndarray, folder: str | None, share: float, seed: int
) -> tuple[dict[int, Path], list[str]]:
    """Choose foreign images for that share of `items`; none is chosen twice until all were.

    Returns:
        position to the image that stands for it; and what was left out of the folder, a sentence each.

    Raises:
        ValueError: there is no such folder, or no image in it.
    """
    if not share:
        return {}, []
    if folder is None:
        raise ValueError(
            "data.image_noise needs a folder of foreign images; name it in data.noise_folder."
        )
    root = Path(folder).expanduser()
    listing = list_images(root)
    if not listing.keys:
        raise ValueError(
            f"There is no image in {root}; name a folder of foreign images in data.noise_folder."
        )
    random = np.random.default_rng((seed, 4))
    order = random.permutation(items)
    files = random.permutation(len(listing.keys))
    chosen = {}
    for number, item in enumerate(order[: round(share * len(items))]):
        key = listing.keys[files[number % len(files)]]
        chosen[int(item)] = root / key
    return chosen, listing.problems
