"""Emoji-7: the same 1,014 emoji as seven vendors drew them, 6,105 images of 64 x 64 pixels; comes with the package.

It has the shape of Stanford Online Products (many classes, about six images each, a hierarchy) and a person sees at
once whether a neighbour is right. `scripts/build_emoji7.py` rebuilds the file from the vendors' packages; who drew
what, and under which licence, is in `emoji7_images/ATTRIBUTION.md`.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files

import numpy as np
from PIL import Image

from lab.core import arrays
from lab.core.files import cache_folder
from lab.data import _splits
from lab.data._base import BundledSplitKnobs, ImageRecords, ImageSet
from lab.data.images.reading import open_rgb


class Emoji7(BundledSplitKnobs, ImageSet):
    """Emoji of seven vendors; a class is one emoji, a super-class one of six Unicode groups (Food & Drink, ...).

    Attributes of an image: `vendor`, `group`, `subgroup` (66 of them), `code_points`.
    """

    level_attributes = {"middle": "subgroup", "coarse": "group"}
    licence = "Apache-2.0, CC-BY-4.0 or MIT, by vendor; Rankscope's lab/data/emoji7_images/ATTRIBUTION.md names each"

    def _read(self) -> ImageRecords:
        stored = _stored()
        classes = stored["classes"]
        vendors = stored["vendors"][stored["vendor"]]
        code_points = stored["cp"]
        groups = stored["grp"]
        super_names, super_of_class = np.unique(groups, return_inverse=True)
        return ImageRecords(
            keys=[
                f"{code}/{vendor}"
                for code, vendor in zip(code_points[classes], vendors, strict=True)
            ],
            labels=classes,
            class_names=stored["names"].tolist(),
            super_labels=super_of_class[classes],
            super_names=super_names.tolist(),
            attributes={
                "vendor": vendors,
                "group": groups[classes],
                "subgroup": stored["sub"][classes],
                "code_points": code_points[classes],
            },
            splits=_splits.class_disjoint(
                classes, self.knobs.split_seed, self.knobs.test, self.knobs.validation
            ),
        )

    @property
    def pixels(self) -> np.ndarray:
        """uint8 [6105 64 64 3], shared by all instances; read-only. Decoded once, and then kept in the cache folder."""
        return _decoded()

    def load(self, i: int) -> Image.Image:
        """Return the i-th image, RGB, 64 x 64."""
        return open_rgb(_webp(_stored(), i), self.keys[i])


@lru_cache(maxsize=1)
def _stored() -> dict[str, np.ndarray]:
    with (
        (files("lab.data") / "emoji7_images" / "emoji7.npz").open("rb") as file,
        np.load(file) as archive,
    ):
        return dict(archive)


def _webp(stored: dict[str, np.ndarray], i: int) -> bytes:
    return stored["webp"][stored["offsets"][i] : stored["offsets"][i + 1]].tobytes()


@lru_cache(maxsize=1)
def _decoded() -> np.ndarray:
    """Return all pixels: decoded, or read from the user's cache folder, 75 MB with a checksum."""
    stored = _stored()
    place = cache_folder() / f"emoji7-{zlib.crc32(stored['webp'].data):08x}.safetensors"
    try:
        pixels = arrays.read(place)["pixels"]
    except (ValueError, OSError):  # not there yet, or damaged
        pixels = np.stack(
            [open_rgb(_webp(stored, i), f"emoji {i}") for i in range(len(stored["classes"]))]
        )
        with suppress(OSError):  # where nothing can be written each process decodes them
            arrays.write(place, {"pixels": pixels})
    pixels.flags.writeable = False
    return pixels
