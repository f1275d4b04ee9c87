"""Two halves from two super-classes, so that half of the negatives are of the same kind (004, appendix H.3; FastAP)."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import labelled
from lab.samplers._base import Sampler, ShortClasses, draw, members_by_class


class Hierarchical(Sampler):
    """Each batch: m images of batch_size / 2m classes of one super-class, and as many of another super-class.

    By share `classes`, the classes of every super-class are shuffled each lap and cut into half-batches, and
    half-batches of different super-classes are paired, so that a super-class has the share of the batches that it has
    of the classes. (Contextual, appendix H.3, cuts samples, not classes: its shares go by images.) By share `pairs`,
    every pair of super-classes has as many batches as any other, whatever its size, and each batch draws its classes
    anew (code of ROADMAP and of FastAP). Super-classes with too few classes for half a batch take no part.

    Raises:
        ValueError: `batch_size` is no multiple of `2 per_class`, no super-labels were given, or fewer than two
            super-classes have enough classes.

    Example:
        >>> import lab, numpy as np
        >>> labels = np.repeat(np.arange(8), 4)  # eight classes of four images
        >>> kinds = labels // 4  # in two super-classes
        >>> sampler = lab.samplers.create("hierarchical", batch_size=8, per_class=2).bind(labels, kinds, seed=0)
        >>> np.unique(kinds[sampler.batch(0)], return_counts=True)
        (array([0, 1]), array([4, 4]))
    """

    batch_size: int = knob("Images in a batch.", default=128, ge=4, le=MOST_ITEMS, scale="log", unit="images")
    per_class: int = knob(
        "Images of each class in a batch (m).",
        default=4,
        ge=1,
        le=MOST_ITEMS,
        unit="images",
        source="ROADMAP, released code",
    )
    share: Literal["classes", "pairs"] = knob(
        "How often super-classes are drawn: by their number of classes, or every pair equally often.", default="classes"
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
            raise ValueError("Hierarchical needs super-classes and this data set has none; use m_per_class instead.")
        self._classes_per_half = self.knobs.batch_size // (2 * self.knobs.per_class)
        classes = members_by_class(self.labels, self.knobs.per_class, self.knobs.short_classes, "Hierarchical")
        usable = [members for members in classes if labelled(super_labels[members]).all()]
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
        random = np.random.default_rng((self.seed, step, 1))
        classes = self._of_a_pair(step, random) if self.knobs.share == "pairs" else self._of_a_lap(step)
        return draw(random, classes, self.knobs.per_class, self.knobs.short_classes)

    def _of_a_pair(self, step: int, random: np.random.Generator) -> list[np.ndarray]:
        """The classes of one batch when pairs of super-classes take turns, in an order that is new each lap."""
        pairs = np.array(list(itertools.combinations(range(len(self._supers)), 2)))
        lap, turn = divmod(step, len(pairs))
        chosen = pairs[np.random.default_rng((self.seed, lap)).permutation(len(pairs))[turn]]
        return [
            self._supers[owner][c]
            for owner in chosen
            for c in random.permutation(len(self._supers[owner]))[: self._classes_per_half]
        ]

    def _of_a_lap(self, step: int) -> list[np.ndarray]:
        """The classes of one batch when every class takes its turn once a lap."""
        counts = np.array([len(classes) // self._classes_per_half for classes in self._supers])
        lap, turn = divmod(step, min(counts.sum() // 2, counts.sum() - counts.max()))
        pairs = _pairs(counts, np.random.default_rng((self.seed, lap)))
        chosen = []
        for owner, half in pairs[turn]:
            classes = self._supers[owner]
            order = np.random.default_rng((self.seed, lap, 2, owner)).permutation(len(classes))
            chosen += [classes[c] for c in order[half * self._classes_per_half :][: self._classes_per_half]]
        return chosen


def _pairs(counts: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Pair half-batches of different super-classes, as many as can be, in random order.

    Args:
        counts: int64 [s], half-batches of each super-class.

    Returns:
        int64 [p 2 2]: for each pair and member, the super-class and which of its half-batches.
    """
    # What one super-class has more than all others together finds no partner.
    counts = np.minimum(counts, counts.sum() - counts)
    listed = np.concatenate(
        [[(owner, half) for half in range(counts[owner])] for owner in random.permutation(len(counts))]
    )
    # Side by side in a list, no super-class fills more than half of it: half a list apart, owners differ.
    pairs = len(listed) // 2
    return random.permutation(np.stack([listed[:pairs], listed[pairs : 2 * pairs]], axis=1))
