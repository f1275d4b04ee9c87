"""Two halves from two super-classes, so that half of the negatives are of the same kind (004, appendix G; FastAP)."""

from __future__ import annotations

import numpy as np

from lab.knobs import Knobs, knob
from lab.samplers._base import Sampler, ShortClasses, draw, members_by_class


class Hierarchical(Sampler):
    """Each batch: m images of batch_size / 2m classes of one super-class, and as many of another super-class.

    Each lap, the classes of every super-class are shuffled and cut into half-batches, and half-batches of different
    super-classes are paired, so that a super-class has the share of the batches that it has of the classes (004,
    appendix G). Super-classes with too few classes for half a batch take no part.

    Raises:
        ValueError: `batch_size` is no multiple of `2 per_class`, no super-labels were given, or fewer than two
            super-classes have enough classes.
    """

    class Knobs(Knobs):
        batch_size: int = knob(128, "images in a batch", ge=4, scale="log", unit="images")
        per_class: int = knob(4, "images of each class in a batch (m)", ge=1, unit="images", source="001, section 4.1")
        short_classes: ShortClasses = knob("refuse", "what to do with classes that have fewer images than per_class")

    def __init__(self, **knobs):
        super().__init__(**knobs)
        if self.knobs.batch_size % (2 * self.knobs.per_class):
            raise ValueError(
                f"Hierarchical: batch_size must be a multiple of twice per_class, got {self.knobs.batch_size} and "
                f"{self.knobs.per_class}."
            )

    def _bound(self, super_labels: np.ndarray | None) -> None:
        if super_labels is None:
            raise ValueError("Hierarchical needs super-classes and this data set has none; use m_per_class instead.")
        self._classes_per_half = self.knobs.batch_size // (2 * self.knobs.per_class)
        usable = members_by_class(self.labels, self.knobs.per_class, self.knobs.short_classes, "Hierarchical")
        owners = [super_labels[members[0]] for members in usable]
        for members, owner in zip(usable, owners, strict=True):
            if (super_labels[members] != owner).any():
                raise ValueError(f"Hierarchical: class {self.labels[members[0]]} lies in more than one super-class.")
        by_super = [[m for m, owner in zip(usable, owners, strict=True) if owner == s] for s in np.unique(owners)]
        large = [classes for classes in by_super if len(classes) >= self._classes_per_half]
        if len(large) < 2:
            raise ValueError(
                f"Hierarchical: half a batch of {self.knobs.batch_size} with {self.knobs.per_class} images a class "
                f"needs {self._classes_per_half} classes, but only {len(large)} of {len(by_super)} super-classes have "
                "so many, and two are needed. Lower batch_size or raise per_class."
            )
        self._supers = large

    def batch(self, step: int) -> np.ndarray:
        """Positions of the images of one step, class by class, one super-class after the other: int64 [batch_size]."""
        halves = [len(classes) // self._classes_per_half for classes in self._supers]
        owners = np.repeat(np.arange(len(halves)), halves)
        turns = np.concatenate([np.arange(count) for count in halves])
        pairs = _pairs(owners)
        lap, turn = divmod(step, len(pairs))
        pair = pairs[np.random.default_rng((self.seed, lap)).permutation(len(pairs))[turn]]
        random = np.random.default_rng((self.seed, step, 1))
        drawn = []
        for half in pair:
            classes = self._supers[owners[half]]
            order = np.random.default_rng((self.seed, lap, owners[half])).permutation(len(classes))
            chosen = order[turns[half] * self._classes_per_half :][: self._classes_per_half]
            drawn.append(draw(random, [classes[c] for c in chosen], self.knobs.per_class))
        return np.concatenate(drawn)


def _pairs(owners: np.ndarray) -> np.ndarray:
    """Pair things [h] of different owners, as many as can be: int64 [p 2], positions in `owners`.

    With the largest owner first, the i-th thing and the one half the list further have different owners unless one
    owner has more than half of all; what such an owner has too much stays unpaired.
    """
    counts = np.bincount(owners)
    order = np.lexsort((owners, -counts[owners]))
    most = counts.max()
    if 2 * most > len(owners):
        order = np.concatenate([order[: len(owners) - most], order[most:]])
    half = len(order) // 2
    return np.stack([order[:half], order[half : 2 * half]], axis=1)
