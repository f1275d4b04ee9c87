"""Images that belong to no data set, to be embedded with a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lab.core.formats import counted
from lab.core.results import EmbeddingSet
from lab.data import ImageRecords, ImageSet
from lab.data.images.reading import CONVERT, EXTENSIONS, HEIC, ImageError, as_rgb, nameable, open_rgb
from lab.runs.folder import Run


class Unlabelled(ImageSet):
    """Pictures from files and from memory, in the order given, without classes: every label is -1.

    Args:
        pictures: files, PIL images, uint8 arrays [h w 3] or uint8 tensors [3 h w].

    Raises:
        lab.data.images.reading.ImageError: on `load`, when a file is missing or no image.
    """

    def __init__(self, pictures: Sequence[Any]):
        self._pictures = pictures
        super().__init__()

    def _read(self) -> ImageRecords:
        keys = [
            Path(one).as_posix() if isinstance(one, str | Path) else f"picture {number}"
            for number, one in enumerate(self._pictures)
        ]
        return ImageRecords(keys=keys, labels=np.full(len(keys), -1), class_names=[], splits={})

    def load(self, i: int) -> Image.Image:
        one = self._pictures[i]
        if isinstance(one, str | Path):
            return open_rgb(Path(one), least=self.least)
        if not isinstance(one, Image.Image | np.ndarray):  # a tensor; torch is not loaded for files alone
            one = one.permute(1, 2, 0).cpu().numpy()
        try:
            return as_rgb(one if isinstance(one, Image.Image) else Image.fromarray(one))
        except (OSError, SyntaxError, ValueError) as error:  # a file that Pillow has opened is read only now
            raise ImageError(f"{self.keys[i]} is damaged and cannot be decoded: {error}.") from None


def below(folder: Path | str) -> Unlabelled:
    """Every image file below a folder, in the order of their paths; `problems` tells what is left out for its name.

    Raises:
        ValueError: there is none.
    """
    files = [path for path in Path(folder).rglob("*") if path.suffix.lower() in EXTENSIONS | HEIC and path.is_file()]
    paths = sorted(path for path in files if path.suffix.lower() in EXTENSIONS)
    if not paths:
        photos = f" {CONVERT}." if files else ""
        raise ValueError(f"{folder} holds no image file ({' '.join(sorted(EXTENSIONS))}).{photos}")
    images = Unlabelled([path for path in paths if nameable(path.as_posix())])
    if lost := len(paths) - len(images):
        odd = next(path.as_posix() for path in paths if not nameable(path.as_posix()))
        images.problems = [f"Left out, since such names cannot be written down: {counted(lost, 'file')}, {ascii(odd)}."]
    return images


def searched(run: Run, split: str, dataset: ImageSet) -> EmbeddingSet:
    """The embeddings that queries of a split are compared with: its gallery's where it has one, else its own.

    Raises:
        ValueError: the split has none, or they do not belong to the run's images any more.
    """
    vectors = run.embeddings(split, "gallery") or run.embeddings(split)
    outside = (vectors.items < 0) | (vectors.items >= len(dataset)) | (vectors.labels >= len(dataset.class_names))
    if outside.any():
        raise ValueError(
            f"The embeddings of {run.name} name {outside.sum()} images that its data does not have; run: "
            f"lab evaluate {run.path}."
        )
    return vectors
