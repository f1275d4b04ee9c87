"""A data set whose images lie in large files: nothing in memory grows with the number of images before it must."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
from PIL import Image

from lab.core.knobs import REQUIRED, Knobs, knob
from lab.data._base import ImageRecords, ImageSet
from lab.data._splits import Split, shared_out
from lab.data.images.reading import open_rgb
from lab.data.streams import index as indexes
from lab.data.streams import remote


class StreamedKnobs(Knobs):
    root: str = knob(
        REQUIRED, "Folder of the files, or one of them; s3://, gs:// and hf:// addresses go through fsspec.", path=True
    )
    test: float = knob(0.5, "Fraction of the classes that are kept for testing.", ge=0, lt=1)
    validation: float = knob(0.2, "Fraction of the training classes that are kept for validation.", ge=0, lt=1)
    split_seed: int = knob(0, "Random seed of the split of the classes into training, validation and test.", ge=0)


class ClassSplit(Split):
    """A split of whole classes of an index; its images are listed when somebody asks for all of them.

    starts, sizes: int64 [c], the first row of each class and how many it has. What `Sampler.bind_classes` takes.
    """

    def __init__(self, starts: np.ndarray, sizes: np.ndarray):
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "gallery", None)

    starts: np.ndarray
    sizes: np.ndarray

    @property
    def query(self) -> np.ndarray:
        """int64 [q], ascending: eight bytes an image."""
        ends = np.cumsum(self.sizes)
        return np.arange(len(self)) + np.repeat(self.starts - (ends - self.sizes), self.sizes)

    @property
    def items(self) -> np.ndarray:
        return self.query

    def by_class(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        filled = self.sizes > 0
        return np.asarray(labels[self.starts[filled]]), self.sizes[filled]

    def __len__(self) -> int:
        return int(self.sizes.sum())


class DrawnRows:
    """Stands for the list of a split's images where a sampler draws rows of the data set itself (`bind_classes`).

    Example:
        >>> rows = DrawnRows(100_000_000)
        >>> len(rows), rows[np.array([7, 99_000_000])]
        (100000000, array([       7, 99000000]))
    """

    def __init__(self, count: int):
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return rows


class StreamedSet(ImageSet):
    """Base of `tar_shards` and `parquet_images`. `index` says where each image lies."""

    Knobs = StreamedKnobs
    _system: Any = None
    _opened_by: int = -1  # number of the process that opened the file system

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
        knobs, bounds = self.knobs, np.asarray(index.bounds)
        shares = shared_out(np.arange(len(bounds) - 1), knobs.split_seed, knobs.test, knobs.validation)
        parts = {name: np.sort(classes) for name, classes in shares.items()}
        splits = {name: ClassSplit(bounds[one], bounds[one + 1] - bounds[one]) for name, one in parts.items()}
        return ImageRecords(index.names, index.labels, index.class_names, splits, problems=index.problems)

    def _encoded(self, i: int) -> bytes:
        """The file of the i-th image."""
        raise NotImplementedError(f"{type(self).__name__} must define _encoded.")

    def load(self, i: int) -> Image.Image:
        return open_rgb(self._encoded(i), self.keys[i], self.least)

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **dict(self.knobs)), ()
