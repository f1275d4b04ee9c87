"""Batches of m images of each of batch_size / m classes, the class-balanced batch of most metric-learning papers."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.samplers._base import Sampler, ShortClasses, draw, members_by_class, shuffled_lap

USUAL = 4
"""Images of each class, if `per_class` is not set and there are enough classes."""


class MPerClass(Sampler):
    """Classes take turns in an order that is shuffled each lap; images of a class are drawn without replacement.

    Raises:
        ValueError: `batch_size` is not a multiple of `per_class`, or there are too few classes, or too few images in a
            class.

    Example:
        >>> import lab, numpy as np
        >>> labels = np.repeat(np.arange(5), 6)  # five classes of six images
        >>> sampler = lab.samplers.create("m_per_class", batch_size=8, per_class=4).bind(labels, seed=0)
        >>> np.unique(labels[sampler.batch(0)], return_counts=True)[1]
        array([4, 4])
    """

    batch_size: int = knob(
        "Images in a batch.", default=128, ge=2, le=MOST_ITEMS, scale="log", unit="images"
    )
    per_class: int | None = knob(
        "Images of each class in a batch (m). None: 4; if there are too few classes for that, more of each class, so "
        "that the batch is full (images of small classes are repeated).",
        default=None,
        ge=1,
        le=MOST_ITEMS,
        unit="images",
        source="DML deck, protocol",
    )
    short_classes: ShortClasses = knob(
        "What to do with classes that have fewer images than per_class.", default="refuse"
    )

    def __post_init__(self) -> None:
        self._each = self.knobs.per_class or USUAL
        if self.knobs.batch_size % self._each:
            raise ValueError(
                f"MPerClass: batch_size must be a multiple of per_class, got {self.knobs.batch_size} and {self._each}."
            )

    def _bound(self, super_labels: np.ndarray | None) -> None:
        self._classes = members_by_class(
            self.labels, self._each, self.knobs.short_classes, "MPerClass"
        )
        size = self.knobs.batch_size
        classes = len(self._classes)
        if self.knobs.per_class is None and classes < size // USUAL and size <= self.images:
            # There are too few classes for 4 images of each: take the smallest divisor of the batch size that fits.
            divisors = (
                m for m in range(USUAL, size // 2 + 1) if size % m == 0 and size // m <= classes
            )
            self._each = next(divisors, USUAL)
        self._classes_per_batch = size // self._each
        if classes < self._classes_per_batch:
            raise ValueError(
                f"MPerClass: a batch of {size} with {self._each} images per class needs {self._classes_per_batch} "
                f"classes, but only {classes} can be used. Lower batch_size to {max(2, classes * self._each)} or "
                "raise per_class."
            )

    def batch(self, step: int) -> np.ndarray:
        """Return the positions of the images of one step, class by class, int64 [batch_size]."""
        turn = shuffled_lap(self.seed, step, len(self._classes), self._classes_per_batch)
        random = np.random.default_rng((self.seed, step, 1))
        return draw(random, [self._classes[c] for c in turn], self._each, self.knobs.short_classes)
