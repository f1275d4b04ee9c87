"""Which classes, or which images of each class, train, validate and test. Pure functions of a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.core.results import labelled


@dataclass(frozen=True)
class Split:
    """One part of a data set, as positions of its images.

    query: int64 [q].
    gallery: int64 [g], or None when the queries are searched among each other.
    """

    query: np.ndarray
    gallery: np.ndarray | None = None

    @classmethod
    def with_roles(cls, name: str, items: np.ndarray, role: np.ndarray) -> Split:
        """Return the split of images int64 [n] whose roles [n] are query and gallery, or all empty.

        Raises:
            ValueError: only some of them have a role, or all have the same.
        """
        if (role == "").all():
            return cls(items)
        query = items[role == "query"]
        gallery = items[role == "gallery"]
        neither = len(items) - len(query) - len(gallery)
        if neither or not len(query) or not len(gallery):
            raise ValueError(
                f"The {name} split has {len(query)} queries, {len(gallery)} gallery images and {neither} images that "
                "are neither. Name every image of a split query or gallery, or none of them."
            )
        return cls(query, gallery)

    @property
    def items(self) -> np.ndarray:
        """Every image of the split once, ascending: int64 [n]."""
        if self.gallery is None:
            return np.unique(self.query)
        return np.unique(np.concatenate([self.query, self.gallery]))

    def by_class(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes of its images, int64 [c] ascending, and how many images each has.

        labels: int64 [n] of the data set.
        """
        own = labels[self.items]
        return np.unique(own[labelled(own)], return_counts=True)

    def __len__(self) -> int:
        return len(self.items)


def class_disjoint(
    labels: np.ndarray, seed: int, test: float = 0.5, validation: float = 0.5
) -> dict[str, Split]:
    """Split the classes by seed. An image without a class is in no split.

    Args:
        labels: int64 [n].
        test: fraction of all classes that test.
        validation: fraction of the remaining classes that validate instead of training.

    Returns:
        `train`, `validation` (absent when its fraction rounds to no class) and `test`.
    """
    classes = np.unique(labels[labelled(labels)])
    shuffled = classes[np.random.default_rng(seed).permutation(len(classes))]
    seen = len(classes) - round(test * len(classes))
    train = seen - round(validation * seen)
    parts = {"train": shuffled[:train], "validation": shuffled[train:seen], "test": shuffled[seen:]}
    return {
        name: Split(np.flatnonzero(np.isin(labels, part)))
        for name, part in parts.items()
        if len(part)
    }


def hold_out(
    labels: np.ndarray, train: np.ndarray, seed: int, validation: float
) -> dict[str, Split]:
    """Split the classes of a published training split: `train` and, if the fraction asks for one, `validation`.

    Args:
        labels: int64 [n] of the whole set.
        train: int64 [t], images of the published training split.
        validation: fraction of its classes that validate instead of training.
    """
    inner = class_disjoint(labels[train], seed, test=0.0, validation=validation)
    return {name: Split(train[split.query]) for name, split in inner.items()}


def by_image(
    labels: np.ndarray, items: np.ndarray, seed: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Split the images of each class: those that stay, and those that are held out, int64 ascending.

    Args:
        labels: int64 [n] of the whole set. items: int64 [m], the images to split. share: of each class, held out.
    """
    kept = []
    held_out = []
    items = items[labelled(labels[items])]
    for label in np.unique(labels[items]):
        members = np.random.default_rng((seed, label)).permutation(items[labels[items] == label])
        count = round(share * len(members))
        held_out.append(members[:count])
        kept.append(members[count:])
    return np.sort(np.concatenate(kept)), np.sort(np.concatenate(held_out))


def fold_of(classes: np.ndarray, folds: int, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split classes into parts of equal size, give or take one, and hold one part back.

    Args:
        classes: int64 [c], at least `folds` different ones.
        fold: which part is held back, 0..folds-1.

    Returns:
        the classes of the other parts, and those of this one.
    """
    parts = np.array_split(
        np.random.default_rng((seed, folds)).permutation(np.unique(classes)), folds
    )
    return np.concatenate(parts[:fold] + parts[fold + 1 :]), parts[fold]


def few(labels: np.ndarray, items: np.ndarray, shots: int, seed: int) -> np.ndarray:
    """Return at most `shots` images of each class, drawn by seed, ascending; more shots keep the images of fewer.

    Args:
        labels: int64 [n] of the whole set.
        items: int64 [t], the images to draw from.
    """
    items = items[labelled(labels[items])]
    kept = []
    for label in np.unique(labels[items]):
        members = np.random.default_rng((seed, label)).permutation(items[labels[items] == label])
        kept.append(members[:shots])
    return np.sort(np.concatenate(kept))
