"""A data set whose images lie in large files: nothing in memory grows with the number of images before it must."""

from __future__ import annotations

import functools
import os
from typing import Any, cast

import numpy as np
from PIL import Image

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet
from lab.data._splits import class_disjoint
from lab.data.images.reading import open_rgb
from lab.data.streams import index as indexes
from lab.data.streams import remote


class StreamedSet(ImageSet):
    """Base of `tar_shards` and `parquet_images`. `index` says where each image lies."""

    _root: str = knob(
        "Folder of the files, or one of them; s3://, gs:// and hf:// addresses go through fsspec.",
        path=True,
        alias="root",
    )
    test: float = knob("Fraction of the classes that are kept for testing.", default=0.5, ge=0, lt=1)
    validation: float = knob("Fraction of the training classes that are kept for validation.", default=0.2, ge=0, lt=1)
    split_seed: int = knob(
        "Random seed of the split of the classes into training, validation and test.", default=0, ge=0
    )
    _system = cast(Any, None)
    _opened_by = -1  # number of the process that opened the file system

    def _indexed(self) -> indexes.ImageIndex:
        """The index of the files below `knobs.root`, built unless it is there."""
        raise NotImplementedError(f"{type(self).__name__} must define _indexed.")

    @property
    def system(self) -> Any:
        """The file system of the files, opened by the process that reads."""
        if self._opened_by != os.getpid():
            self._system, self._opened_by = remote.file_system(self.knobs.root, fresh=True)[0], os.getpid()
        return self._system

    def _files(self, ending: str) -> tuple[list[str], list[str]]:
        """The files that end so, and their states."""
        self._system, files, states = remote.listed(self.knobs.root, (ending,))
        self._opened_by = os.getpid()
        return files, states

    def _read(self) -> ImageRecords:
        self.index = index = self._indexed()
        knobs = self.knobs
        splits = class_disjoint(np.asarray(index.labels), knobs.split_seed, knobs.test, knobs.validation)
        return ImageRecords(index.names, index.labels, index.class_names, splits, problems=index.problems)

    def _encoded(self, i: int) -> bytes:
        """The file of the i-th image."""
        raise NotImplementedError(f"{type(self).__name__} must define _encoded.")

    def load(self, i: int) -> Image.Image:
        return open_rgb(self._encoded(i), self.keys[i], self.least)

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **dict(self.knobs)), ()
