"""Digits: 1,797 handwritten digits that come with scikit-learn, for what needs few classes of many images.

The third set without a download. Emoji-7 and letters have six to ten images a class; here a class has some 180, enough
for P@100, and the test is on the classes of the training, as in CAM.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._splits import Split, by_image

ENLARGED = 4
"""Factor by which each side of the 8 x 8 pixels is enlarged."""


class Digits(SplitKnobs, ImageSet):
    """Handwritten digits (Alpaydin and Kaynak, 1998), black on white, 32 x 32 pixels made of 8 x 8.

    The classes that train are tested, too. 1,797 images by thirteen people; who wrote which is not told, so the images
    of one person may train and test.
    """

    split_seed: int = knob(
        "Random seed of the split of the images into training, validation and test.",
        default=0,
        ge=0,
    )
    test: float = knob(
        "Fraction of each class's images that are kept for testing.", default=0.2, gt=0, lt=1
    )
    validation: float = knob(
        "Fraction of each class's other images that are kept for validation.",
        default=0.1,
        ge=0,
        lt=1,
    )
    gallery: Literal["train", "test"] = knob(
        "What test images are searched in: the training images, as in CAM, or the other test images.",
        default="train",
    )

    class_disjoint = False
    licence = (
        "UCI Machine Learning Repository, Optical Recognition of Handwritten Digits, CC BY 4.0"
    )

    def _read(self) -> ImageRecords:
        _, labels = _drawn()
        seed = self.knobs.split_seed
        rest, test = by_image(labels, np.arange(len(labels)), seed, self.knobs.test)
        train, validation = by_image(labels, rest, seed, self.knobs.validation)
        gallery = train if self.knobs.gallery == "train" else None
        splits = {"train": Split(train), "test": Split(test, gallery)}
        if len(validation):
            splits["validation"] = Split(validation, gallery)
        return ImageRecords(
            keys=[f"{label}/{number:04d}" for number, label in enumerate(labels)],
            labels=labels,
            class_names=[str(digit) for digit in range(10)],
            splits=splits,
        )

    @property
    def pixels(self) -> np.ndarray:
        """uint8 [n 32 32 3], shared by all instances; read-only."""
        return _drawn()[0]


@lru_cache(maxsize=1)
def _drawn() -> tuple[np.ndarray, np.ndarray]:
    """Return pixels and labels, int64 [n]; scikit-learn has ink from 0 to 16."""
    from sklearn.datasets import load_digits  # takes a second

    stored = load_digits()
    grey = (255 - np.round(stored.images * (255 / 16))).astype(np.uint8)
    large = grey.repeat(ENLARGED, axis=1).repeat(ENLARGED, axis=2)
    pixels = np.repeat(large[..., None], 3, axis=-1)
    pixels.flags.writeable = False
    return pixels, stored.target.astype(np.int64)
