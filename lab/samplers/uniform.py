"""Shuffled passes over the data that ignore classes."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.samplers._base import Sampler, shuffled_lap


class Uniform(Sampler):
    """Shuffled passes over all images; the last images of a pass that do not fill a batch are dropped.

    Classes are ignored, so many queries may have no positive in their batch.

    Raises:
        ValueError: there are fewer images than `batch_size`.

    Example:
        >>> import lab, numpy as np
        >>> sampler = lab.samplers.create("uniform", batch_size=4).bind(np.zeros(8), seed=0)
        >>> sorted(int(i) for step in range(sampler.steps_per_epoch) for i in sampler.batch(step))
        [0, 1, 2, 3, 4, 5, 6, 7]
    """

    batch_size: int = knob(
        "Images in a batch.", default=128, ge=1, le=MOST_ITEMS, scale="log", unit="images"
    )

    def _bound(self, super_labels: np.ndarray | None) -> None:
        if self.images < self.knobs.batch_size:
            raise ValueError(
                f"Uniform: a batch of {self.knobs.batch_size} needs as many images, but there are {self.images}. "
                f"Lower batch_size to at most {self.images}."
            )

    def batch(self, step: int) -> np.ndarray:
        """Return the positions of the images of one step, int64 [batch_size]."""
        return self.drawn[shuffled_lap(self.seed, step, self.images, self.knobs.batch_size)]
