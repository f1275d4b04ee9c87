"""Batches of two super-classes, in which half of the negatives share the super-class (004, appendix H.3; FastAP)."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import labelled
from lab.samplers._base import Sampler, ShortClasses, draw, members_by_class


class Hierarchical(Sampler):
    """Each batch holds m images of batch_size / 2m classes of one super-class, and as many of another super-class.

    With share `classes`, the classes of every super-class are shuffled in each lap and divided into half-batches;
    half-batches of different super-classes are then paired. So a super-class is in batches in proportion to its number
    of classes. (Contextual, appendix H.3, divides images instead of classes.) With share `pairs`, every pair of
    super-classes has equally many batches, and each batch draws its classes independently (code of ROADMAP and of
    FastAP). Super-classes with too few classes for half a batch are not used.

    Raises:
        ValueError: `batch_size` is not a multiple of `2 per_class`, there are no super-labels, or fewer than two
            super-classes have enough classes.

    Example:
        >>> import lab, numpy as np
        >>> labels = np.repeat(np.arange(8), 4)  # eight classes of four images
        >>> kinds = labels // 4  # in two super-classes
        >>> sampler = lab.samplers.create("hierarchical", batch_size=8, per_class=2).bind(labels, kinds, seed=0)
        >>> np.unique(kinds[sampler.batch(0)], return_counts=True)
        (array([0, 1]), array([4, 4]))
    """

    batch_size: int = knob(
        "Images in a batch.", default=128, ge=4, le=MOST_ITEMS, scale="log", unit="images"
    )
    per_class: int = knob(
        "Images of each class in a batch (m).",
        default=4,
        ge=1,
        le=MOST_ITEMS,
        unit="images",
        source="ROADMAP, released code",
    )
    share: Literal["classes", "pairs"] = knob(
        "How often super-classes are drawn: by their number of classes, or every pair equally often.",
        default="classes",
    )
    short_classes: ShortClasses = knob(
        "What to do with classes that have fewer images than per_class.", default="refuse"
    )

    def __post_init__(self) -> None:
        if self.knobs.batch_size % (2 * self.knobs.per_class):
            raise ValueError(
                f"Hierarchical: batch_size must be a multiple of twice per_class, got {self.knobs.batch_size} and "
                f"{self.knobs.per_class}."
            )

    def _bound(self, super_labels: np.ndarray | None) -> None:
        if super_labels is None:
            raise ValueError(
                "Hierarchical needs super-classes and this data set has none; use m_per_class instead."
            )
        self._classes_per_half = self.knobs.batch_size // (2 * self.knobs.per_class)

        # Group the classes by super-class; images without one take their class out of the training.
        by_super: dict[int, list[np.ndarray]] = {}
        for members in members_by_class(
            self.labels, self.knobs.per_class, self.knobs.short_classes, "Hierarchical"
        ):
            super_classes = super_labels[members]
            if not labelled(super_classes).all():
                continue
            if (super_classes != super_classes[0]).any():
                raise ValueError(
                    f"Hierarchical: class {self.labels[members[0]]} is in more than one super-class."
                )
            by_super.setdefault(int(super_classes[0]), []).append(members)

        large = [
            by_super[number]
            for number in sorted(by_super)
            if len(by_super[number]) >= self._classes_per_half
        ]
        if len(large) < 2:
            raise ValueError(
                f"Hierarchical: half a batch of {self.knobs.batch_size} with {self.knobs.per_class} images per class "
                f"needs {self._classes_per_half} classes, but only {len(large)} of {len(by_super)} super-classes have "
                "so many, and two are needed. Lower batch_size or raise per_class."
            )
        self._supers = large

    def batch(self, step: int) -> np.ndarray:
        """Return the positions of the images of one step, int64 [batch_size], sorted by super-class and class."""
        random = np.random.default_rng((self.seed, step, 1))
        classes = (
            self._classes_of_pair(step, random)
            if self.knobs.share == "pairs"
            else self._classes_of_lap(step)
        )
        return draw(random, classes, self.knobs.per_class, self.knobs.short_classes)

    def _classes_of_pair(self, step: int, random: np.random.Generator) -> list[np.ndarray]:
        """Return the classes of one batch with share `pairs`: pairs of super-classes take turns, shuffled each lap."""
        pairs = np.array(list(itertools.combinations(range(len(self._supers)), 2)))
        lap, turn = divmod(step, len(pairs))
        order = np.random.default_rng((self.seed, lap)).permutation(len(pairs))
        chosen = []
        for number in pairs[order[turn]]:
            classes = self._supers[number]
            drawn = random.permutation(len(classes))[: self._classes_per_half]
            chosen += [classes[c] for c in drawn]
        return chosen

    def _classes_of_lap(self, step: int) -> list[np.ndarray]:
        """Return the classes of one batch with share `classes`: every class takes its turn once per lap."""
        halves = np.array([len(classes) // self._classes_per_half for classes in self._supers])
        batches_per_lap = min(halves.sum() // 2, halves.sum() - halves.max())
        lap, turn = divmod(step, batches_per_lap)
        pairs = _pairs(halves, np.random.default_rng((self.seed, lap)))
        chosen = []
        for number, half in pairs[turn]:
            classes = self._supers[number]
            order = np.random.default_rng((self.seed, lap, 2, number)).permutation(len(classes))
            start = half * self._classes_per_half
            chosen += [classes[c] for c in order[start : start + self._classes_per_half]]
        return chosen


def _pairs(halves: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Pair as many half-batches of different super-classes as possible, in random order.

    Args:
        halves: int64 [s], number of half-batches of each super-class.

    Returns:
        int64 [p 2 2]: for each pair and member, the super-class and the number of its half-batch.
    """
    # If one super-class has more half-batches than all others together, the rest has no partner.
    halves = np.minimum(halves, halves.sum() - halves)

    # List the half-batches of one super-class after another. None fills more than half of the list, so two entries
    # that are half a list apart belong to different super-classes.
    listed = []
    for number in random.permutation(len(halves)):
        listed += [(number, half) for half in range(halves[number])]
    pairs = len(listed) // 2
    return random.permutation(np.stack([listed[:pairs], listed[pairs : 2 * pairs]], axis=1))
