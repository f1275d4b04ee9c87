"""Images that belong to no data set, to be embedded with a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from lab.data import ImageRecords, ImageSet
from lab.data.images.reading import EXTENSIONS, open_rgb


class Files(ImageSet):
    """Image files in the given order, without classes: every label is -1.

    Raises:
        lab.data.images.reading.ImageError: on `load`, when a file is missing or no image.
    """

    def __init__(self, paths: Sequence[Path | str]):
        self._paths = [Path(path) for path in paths]
        super().__init__()

    def _read(self) -> ImageRecords:
        keys = [path.as_posix() for path in self._paths]
        return ImageRecords(keys=keys, labels=np.full(len(keys), -1), class_names=[], splits={})

    def load(self, i: int) -> Image.Image:
        return open_rgb(self._paths[i])


def below(folder: Path | str) -> Files:
    """Every image file below a folder, in the order of their paths.

    Raises:
        ValueError: there is none.
    """
    paths = sorted(p for p in Path(folder).rglob("*") if p.suffix.lower() in EXTENSIONS and p.is_file())
    if not paths:
        raise ValueError(f"{folder} holds no image file ({' '.join(sorted(EXTENSIONS))}).")
    return Files(paths)
