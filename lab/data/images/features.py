"""Features of images: computed once, stored by network and images, and loaded as a training loads images.

A file `.features/FINGERPRINT.safetensors` holds the features of one network for one set of images. The searches for
label errors and copies use them, heads are trained on them, and so are the studies of the claims.
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
"""Name of their folder beside the runs."""

Making = Generator[Record, None, EmbeddingSet]


@dataclass(frozen=True)
class Features(EmbeddingSet):
    """Features of some images of a data set.

    contents: int64 [n], the digest of each image's content when it was embedded, 0 where it is unknown; see
    `ImageSet.with_content`.
    """

    contents: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contents is None:
            object.__setattr__(self, "contents", np.zeros(len(self.labels), np.int64))

    @classmethod
    def of(cls, rows: EmbeddingSet, contents: np.ndarray | None = None) -> Features:
        """Return embeddings as features. contents: int64, one digest for each image of the data set."""
        own_contents = None if contents is None else contents[rows.items]
        return cls(rows.vectors, rows.labels, rows.items, own_contents)


def place(root: Path, network: str, images: ImageSet) -> Path:
    """Return the file of the features of some images. Its name changes with the network and with the images.

    Args:
        root: the folder of runs. network: whatever decides the features besides the images.
    """
    digest = hashlib.blake2b(f"{network} {images.state}".encode(), digest_size=8)
    return root / FOLDER / f"{digest.hexdigest()}.safetensors"


def kept(path: Path, images: ImageSet) -> Features | None:
    """Return the features in a file; None if there is no file or it is damaged."""
    try:
        columns = arrays.read(path) if path.is_file() else {}
    except ValueError:
        return None
    if not {"vectors", "items", "contents"} <= columns.keys():
        return None
    items = columns["items"]
    vectors = columns["vectors"].astype(np.float32, copy=False)
    return Features(vectors, images.labels[items], items, columns["contents"])


def once(path: Path, images: ImageSet, making: Making) -> Making:
    """Return features from their file, or compute and store them now; yields progress while they are computed."""
    stored = kept(path, images)
    if stored is not None:
        making.close()
        return stored
    rows = yield from making
    features = rows if isinstance(rows, Features) else Features.of(rows)
    with suppress(OSError):  # features of a folder that cannot be written are still of use
        columns = {
            "vectors": features.vectors,
            "items": features.items,
            "contents": features.contents,
        }
        arrays.write(path, columns)
    return features


class FeatureLoader:
    """Loads batches of features in memory, as `lab.data.images.loading.Loader` loads images.

    Images without features (files that could not be read) are left out of batches.

    Args:
        features: vectors [n d] of the images at `items`.
        images: their data set, whose labels count.

    Attributes:
        contents: int64, the digest of the content of each image of the data set; 0 where it is not known.
    """

    workers = 0

    def __init__(self, features: EmbeddingSet, images: ImageSet):
        self.image_set = images
        self.problems: list[str] = []
        self.rows = torch.from_numpy(features.vectors)
        self.labels = torch.from_numpy(images.labels)
        self.row_of = np.full(len(images), -1)
        self.row_of[features.items] = np.arange(len(features))
        self.contents = np.zeros(len(images), np.int64)
        if isinstance(features, Features):
            self.contents[features.items] = features.contents
        self.share = (0, 1)

    def shared(self, rank: int, world: int) -> FeatureLoader:
        """Return a copy for one of several processes, which loads its share of every batch."""
        other = copy.copy(self)
        other.share = (rank, world)
        return other

    def batches(self, items: Iterable[np.ndarray], first_step: int = 0) -> Iterator[LoadedBatch]:
        """Yield one batch for each array of positions: features float32 [b d] in the place of images."""
        rank, world = self.share
        for whole in items:
            own = np.array_split(np.asarray(whole), world)[rank]
            own = own[self.row_of[own] >= 0]
            if len(own):
                rows = torch.from_numpy(self.row_of[own])
                positions = torch.from_numpy(own)
                yield LoadedBatch(self.rows[rows], self.labels[positions], positions)

    def split(self, items: np.ndarray, batch_size: int = 256) -> Iterator[LoadedBatch]:
        """Yield all of `items` in order, `batch_size` at a time."""
        return self.batches(
            items[start : start + batch_size] for start in range(0, len(items), batch_size)
        )
