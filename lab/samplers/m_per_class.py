"""m images of each of batch_size / m classes: the class-balanced batch of almost every metric-learning paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from lab.core.knobs import Knobs, knob
from lab.samplers._base import Sampler, ShortClasses, Stretches, draw, members_by_class, shuffled_lap


class MPerClass(Sampler):
    """Classes take turns in an order shuffled anew each lap; images of a class are drawn without replacement.

    Raises:
        ValueError: `batch_size` is no multiple of `per_class`, there are too few classes, or too few images in one.

    Example:
        >>> import lab, numpy as np
        >>> labels = np.repeat(np.arange(5), 6)  # five classes of six images
        >>> sampler = lab.samplers.create("m_per_class", batch_size=8, per_class=4).bind(labels, seed=0)
        >>> np.unique(labels[sampler.batch(0)], return_counts=True)[1]
        array([4, 4])
    """

    takes_classes = True

    class Knobs(Knobs):
        batch_size: int = knob(128, "Images in a batch.", ge=2, scale="log", unit="images")
        per_class: int = knob(
            4, "Images of each class in a batch (m).", ge=1, unit="images", source="DML deck, protocol"
        )
        short_classes: ShortClasses = knob("refuse", "What to do with classes that have fewer images than per_class.")

    def __init__(self, **knobs: Any):
        super().__init__(**knobs)
        if self.knobs.batch_size % self.knobs.per_class:
            raise ValueError(
                f"MPerClass: batch_size must be a multiple of per_class, got {self.knobs.batch_size} and "
                f"{self.knobs.per_class}."
            )

    def _bound(self, super_labels: np.ndarray | None) -> None:
        self._classes: Sequence[np.ndarray] = members_by_class(
            self.labels, self.knobs.per_class, self.knobs.short_classes, "MPerClass"
        )
        self._check_classes()

    def bind_classes(self, starts: np.ndarray, sizes: np.ndarray, seed: int = 0) -> Self:
        self.seed, self.images = seed, int(np.sum(sizes))
        enough = np.asarray(sizes) >= self.knobs.per_class
        if self.knobs.short_classes == "refuse" and not enough.all():
            raise ValueError(
                f"MPerClass takes {self.knobs.per_class} images of a class, but {(~enough).sum()} of {len(enough)} "
                "classes have fewer. Lower per_class, or set short_classes to leave_out or repeat."
            )
        taken = enough if self.knobs.short_classes == "leave_out" else np.asarray(sizes) > 0
        self._classes = Stretches(np.asarray(starts)[taken], np.asarray(sizes)[taken])
        self._check_classes()
        return self

    def _check_classes(self) -> None:
        """Raises: ValueError where there are too few classes for a batch."""
        self._classes_per_batch = self.knobs.batch_size // self.knobs.per_class
        if len(self._classes) < self._classes_per_batch:
            raise ValueError(
                f"MPerClass: a batch of {self.knobs.batch_size} with {self.knobs.per_class} images a class needs "
                f"{self._classes_per_batch} classes, but only {len(self._classes)} can be used. Lower batch_size to "
                f"{max(2, len(self._classes) * self.knobs.per_class)} or raise per_class."
            )

    def batch(self, step: int) -> np.ndarray:
        """Positions of the images of one step, class by class: int64 [batch_size]."""
        turn = shuffled_lap(self.seed, step, len(self._classes), self._classes_per_batch)
        random = np.random.default_rng((self.seed, step, 1))
        return draw(random, [self._classes[c] for c in turn], self.knobs.per_class, self.knobs.short_classes)
