"""Features of images: made once, kept by what made them and of what, and loaded as a training loads images.

A file `.features/FINGERPRINT.safetensors` holds those of one network for one set of images. Label errors and copies are
looked for by them, heads are trained on them, and so are the studies of the claims.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.core import arrays
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data._base import ImageSet
from lab.data.images.loading import LoadedBatch

FOLDER = ".features"
"""Where features lie, beside the runs."""

Making = Generator[Record, None, EmbeddingSet]


@dataclass(frozen=True)
class Features(EmbeddingSet):
    """Features of some images of a data set. contents: int64 [n], the digest of each image's content when it was
    embedded, 0 where nobody took it; see `ImageSet.with_content`."""

    contents: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contents is None:
            object.__setattr__(self, "contents", np.zeros(len(self.labels), np.int64))

    @classmethod
    def of(cls, rows: EmbeddingSet, contents: np.ndarray | None = None) -> Features:
        """Embeddings as features. contents: int64, one for each image of the data set."""
        return cls(rows.vectors, rows.labels, rows.items, None if contents is None else contents[rows.items])


def place(root: Path, network: str, images: ImageSet) -> Path:
    """Where the features of some images are kept. The name changes with the network and with the images.

    Args:
        root: the folder of runs. network: whatever decides the features besides the images.
    """
    made = hashlib.blake2b(f"{network} {images.state}".encode(), digest_size=8)
    return root / FOLDER / f"{made.hexdigest()}.safetensors"


def kept(path: Path, images: ImageSet) -> Features | None:
    """Features that were made before; None where there are none, or their file is damaged."""
    try:
        columns = arrays.read(path) if path.is_file() else {}
    except ValueError:
        return None
    if not {"vectors", "items", "contents"} <= columns.keys():
        return None
    vectors, items = columns["vectors"].astype(np.float32, copy=False), columns["items"]
    return Features(vectors, images.labels[items], items, columns["contents"])


def once(path: Path, images: ImageSet, making: Making) -> Making:
    """Features from their file, or made now and kept; yields progress while they are made."""
    if (known := kept(path, images)) is not None:
        making.close()
        return known
    made = yield from making
    made = made if isinstance(made, Features) else Features.of(made)
    with suppress(OSError):  # a folder that cannot be written can still be looked at
        arrays.write(path, {"vectors": made.vectors, "items": made.items, "contents": made.contents})
    return made


class FeatureLoader:
    """What `lab.data.images.loading.Loader` is for images, for features that lie in memory.

    Images without features (files that could not be read) are left out of batches.

    Args:
        features: vectors [n d] of the images at `items`.
        images: their data set, whose labels count.

    Attributes:
        contents: int64, the digest of the content of each image of the data set; 0 where it is not known.
    """

    workers = 0

    def __init__(self, features: EmbeddingSet, images: ImageSet):
        self.image_set, self.problems = images, list[str]()
        self.rows, self.labels = torch.from_numpy(features.vectors), torch.from_numpy(images.labels)
        self.row_of = np.full(len(images), -1)
        self.row_of[features.items] = np.arange(len(features))
        self.contents = np.zeros(len(images), np.int64)
        if isinstance(features, Features):
            self.contents[features.items] = features.contents
        self.share = (0, 1)

    def shared(self, rank: int, world: int) -> FeatureLoader:
        """The same for one of several processes, which loads its share of every batch."""
        other = copy.copy(self)
        other.share = (rank, world)
        return other

    def batches(self, items: Iterable[np.ndarray], first_step: int = 0) -> Iterator[LoadedBatch]:
        """One batch for each array of positions: features float32 [b d] in the place of images."""
        rank, world = self.share
        for one in items:
            mine = np.array_split(np.asarray(one), world)[rank]
            mine = mine[self.row_of[mine] >= 0]
            if len(mine):
                item = torch.from_numpy(mine)
                yield LoadedBatch(self.rows[torch.from_numpy(self.row_of[mine])], self.labels[item], item)

    def split(self, items: np.ndarray, batch_size: int = 256) -> Iterator[LoadedBatch]:
        """All of `items` in order, `batch_size` at a time."""
        return self.batches(items[start : start + batch_size] for start in range(0, len(items), batch_size))
