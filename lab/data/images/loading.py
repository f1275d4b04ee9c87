"""Batches of tensors, in order, decoded ahead by worker processes when asked, the same for any number of workers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from lab.data._base import ImageSet
from lab.data.images.reading import ImageError
from lab.data.images.transforms import Transform, seeds


@dataclass(frozen=True)
class LoadedBatch:
    """images: float32 [n 3 h w], normalised; labels: int64 [n]; items: int64 [n], positions in the data set."""

    images: torch.Tensor
    labels: torch.Tensor
    items: torch.Tensor

    def __len__(self) -> int:
        return len(self.items)


class Loader:
    """Loads batches of one data set. An image that cannot be decoded is left out of its batch and named in `problems`.

    Args:
        image_set: where the images come from.
        transform: from `lab.data.images.transforms`.
        seed: with the step and the position in the batch, decides how an image is cropped and flipped.
        workers: processes that load ahead; 0 loads in this process.
        pin_memory: keep batches in page-locked memory, for fast copies to a GPU.
        share: (rank, world) loads only the rank-th of `world` parts of each batch, with the crops that the whole batch
            would have.

    Attributes:
        problems: one sentence for each image that could not be decoded so far, each named once.
    """

    def __init__(
        self,
        image_set: ImageSet,
        transform: Transform,
        seed: int = 0,
        workers: int = 0,
        pin_memory: bool = False,
        share: tuple[int, int] = (0, 1),
    ):
        if workers < 0:
            raise ValueError(f"workers must be 0 or more processes, got {workers}.")
        self.image_set, self.transform, self.seed = image_set, transform, seed
        self.workers, self.pin_memory, self.share = workers, pin_memory, share
        self._failed: dict[int, str] = {}

    @property
    def problems(self) -> list[str]:
        return list(self._failed.values())

    def batches(self, items: Iterable[np.ndarray], first_step: int = 0) -> Generator[LoadedBatch, None, None]:
        """One batch for each array of positions; `first_step` is the step of the first, for a run that is resumed.

        `items` is read ahead by up to two batches a worker.

        Raises:
            ImageError: not one image of a batch can be decoded.
        """
        _ = self.image_set.pixels  # decoded before the workers are forked, not once in each of them
        loaded = DataLoader(
            _Batches(self.image_set, self.transform, self.seed, self.share),
            sampler=_Steps(items, first_step),
            batch_size=None,
            num_workers=self.workers,
            pin_memory=self.pin_memory,
            generator=torch.Generator(),  # else the loader draws from, and so moves, the random state of the process
        )
        labels = torch.from_numpy(self.image_set.labels)
        for step, pixels, kept, failed in loaded:
            self._failed.update(failed)
            if pixels is None:
                raise ImageError(f"No image of step {step} can be decoded; the first: {next(iter(failed.values()))}")
            yield LoadedBatch(self.transform.finish(pixels), labels[kept], kept)

    def split(self, items: np.ndarray, batch_size: int = 256) -> Iterator[LoadedBatch]:
        """All of `items` in order, `batch_size` at a time: what evaluation needs."""
        return self.batches(items[start : start + batch_size] for start in range(0, len(items), batch_size))


@dataclass(frozen=True)
class _Batches(Dataset):
    """Makes the uint8 pixels of one batch; runs in the worker process."""

    image_set: ImageSet
    transform: Transform
    seed: int
    share: tuple[int, int]

    def __getitem__(self, request: tuple[int, np.ndarray]):
        """(step, uint8 [n 3 h w], positions [n] of the images that could be decoded, the others' sentences)."""
        step, items = request
        sources, positions, failed = [], [], {}
        rank, world = self.share
        for position in np.array_split(np.arange(len(items)), world)[rank].tolist():
            item = int(items[position])
            try:
                sources.append(self._source(item))
                positions.append(position)
            except ImageError as error:
                failed[item] = str(error)
        if not sources:
            return step, None, None, failed
        drawn = np.array(seeds(self.seed, step, len(items)), dtype=np.uint64)[positions].tolist()
        pixels = self.transform.batch(sources, drawn if self.transform.random else None)
        return step, pixels, torch.from_numpy(np.asarray(items)[positions]), failed

    def _source(self, item: int):
        pixels = self.image_set.pixels
        if pixels is None:
            return self.image_set.load(item)
        return torch.from_numpy(pixels[item].copy()).permute(2, 0, 1)


@dataclass(frozen=True)
class _Steps:
    """Numbers the batches, lazily."""

    items: Iterable[np.ndarray]
    first_step: int

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        return enumerate(self.items, start=self.first_step)
