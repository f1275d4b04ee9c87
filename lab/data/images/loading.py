"""Batches of tensors, in order, decoded ahead by worker processes when asked, the same for any number of workers."""

from __future__ import annotations

import copy
import multiprocessing
import os
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import psutil
import torch
from torch.utils.data import DataLoader, Dataset

from lab.core.formats import MB
from lab.data._base import ImageSet, content_digest
from lab.data.images.reading import ImageError, open_rgb
from lab.data.images.transforms import Transform, seeds

Images = TypeVar("Images", bound="torch.Tensor | Streamed", covariant=True)

Loaded = tuple[int, torch.Tensor | None, torch.Tensor, dict[int, str], torch.Tensor | None]
"""Step, uint8 [n 3 h w] (None: no image), positions [n] of the images, a sentence for each that is left out, and int64
[n], a digest of the content of each image, where these are taken."""


@dataclass(frozen=True)
class LoadedBatch(Generic[Images]):
    """images: float32 [n 3 h w], normalised, or loaded part by part; labels: int64 [n]; items: int64 [n], positions in
    the data set."""

    images: Images
    labels: torch.Tensor
    items: torch.Tensor

    def __len__(self) -> int:
        return len(self.items)


Batches = Generator[LoadedBatch[Images], None, None]


class Loader:
    """Loads batches of one data set. An image that cannot be decoded is left out of its batch and named in `problems`.

    Args:
        image_set: where the images come from.
        transform: from `lab.data.images.transforms`.
        seed: with the step and the position in the batch, decides how an image is cropped and flipped.
        workers: processes that load ahead; 0 loads in this process.
        pin_memory: keep batches in page-locked memory, for fast copies to a GPU.
        with_contents: take a digest of the content of each image that is loaded; it costs a twentieth of decoding.

    Attributes:
        problems: one sentence for each image that could not be decoded so far, each named once.
        contents: int64, the digest of the content of each image of the set (`ImageSet.with_content`), 0 for those of
            which none was taken.
    """

    def __init__(
        self,
        image_set: ImageSet,
        transform: Transform,
        seed: int = 0,
        workers: int = 0,
        pin_memory: bool = False,
        with_contents: bool = False,
    ):
        if workers < 0:
            raise ValueError(f"workers must be 0 or more processes, got {workers}.")
        self.image_set, self.transform, self.seed = image_set, transform, seed
        self.workers, self.pin_memory, self.share = workers, pin_memory, (0, 1)
        self._failed: dict[int, str] = {}
        self.with_contents, self.contents = with_contents, np.zeros(len(image_set), np.int64)

    @property
    def problems(self) -> list[str]:
        return list(self._failed.values())

    def shared(self, rank: int, world: int) -> Loader:
        """The same for one of several processes, which loads its part of every batch, with the crops that the whole
        batch would have; problems are told by both."""
        other = copy.copy(self)
        other.share = (rank, world)
        return other

    def batches(
        self, items: Iterable[np.ndarray], first_step: int = 0, skip_lost: bool = False
    ) -> Batches[torch.Tensor]:
        """One batch for each array of positions; `first_step` is the step of the first, for a run that is resumed.

        `items` is read ahead by up to two batches a worker.

        Args:
            skip_lost: leave out a batch of which no image can be decoded, too.

        Raises:
            ImageError: not one image of a batch can be decoded.
        """
        _ = self.image_set.pixels  # decoded before the workers are forked, not once in each of them
        labels = torch.from_numpy(self.image_set.labels)
        parts = (self._part(step, whole, self._positions(len(whole))) for step, whole in enumerate(items, first_step))
        for step, pixels, kept, failed, contents in self._loaded(parts):
            self._failed.update(failed)
            if contents is not None:
                self.contents[kept.numpy()] = contents.numpy()
            if pixels is None and skip_lost:
                continue
            if pixels is None:
                raise ImageError(f"No image of step {step} can be decoded; the first: {next(iter(failed.values()))}")
            yield LoadedBatch(self.transform.finish(pixels), labels[kept], kept)

    def streamed(self, items: Iterable[np.ndarray], first_step: int = 0) -> Batches[Streamed]:
        """As `batches`, but images are only loaded when they are asked for, part by part and as often as they are."""
        _ = self.image_set.pixels
        labels = torch.from_numpy(self.image_set.labels)
        for step, whole in enumerate(items, start=first_step):
            positions = self._positions(len(whole))
            kept = torch.from_numpy(np.asarray(whole)[positions])
            yield LoadedBatch(Streamed(self, step, np.asarray(whole), positions), labels[kept], kept)

    def _positions(self, count: int) -> np.ndarray:
        """Positions in a batch of so many images of those that this process loads."""
        rank, world = self.share
        return np.array_split(np.arange(count), world)[rank]

    def _part(self, step: int, whole: np.ndarray, positions: np.ndarray) -> _Part:
        """Some positions of one batch, unless images differ in size and there are several: that is a ValueError."""
        if self.transform.ragged and len(positions) > 1:
            raise ValueError(
                "Whole images differ in size and make no batch; load them one by one with --training.stream "
                "--training.chunk 1."
            )
        return _Part(step, np.asarray(whole), positions)

    def _loaded(self, parts: Iterable[_Part]) -> Iterable[Loaded]:
        return DataLoader(
            _Pixels(self.image_set, self.transform, self.seed, self.with_contents),
            sampler=parts,  # a generator: each is made when it is its turn
            batch_size=None,
            num_workers=self.workers,
            pin_memory=self.pin_memory,
            generator=torch.Generator(),  # else the loader draws from, and so moves, the random state of the process
        )

    def split(self, items: np.ndarray, batch_size: int = 256) -> Batches[torch.Tensor]:
        """All of `items` in order, `batch_size` at a time: what evaluation needs."""
        parts = [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
        return self.limited(len(parts)).batches(parts, skip_lost=True)

    def limited(self, parts: int) -> Loader:
        """The same with no more processes than there are parts, and none for one; problems are told by both."""
        other = copy.copy(self)
        other.workers = min(self.workers, parts) if parts > 1 else 0
        return other


@dataclass(frozen=True)
class Streamed:
    """The images of one batch, loaded anew whenever they are asked for, and the same each time.

    A batch of 4,096 images of 1,024 pixels takes 51 GB as float32; this holds no more than a part of it, at the price
    of decoding an image once for each pass over it (RS@k, section 4.2, makes two).

    whole: int64 [n], positions in the data set. positions: int64 [m], which of them this process embeds.
    """

    loader: Loader
    step: int
    whole: np.ndarray
    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, places: slice) -> torch.Tensor:
        """Some of the images, float32 [k 3 h w]."""
        (images,) = self.parts([places])
        return images

    def split(self, size: int) -> list[slice]:
        """The parts of at most `size` images, to be asked for by `parts`."""
        return [slice(start, start + size) for start in range(0, len(self), size)]

    def parts(self, places: Sequence[slice]) -> Iterator[torch.Tensor]:
        """The images of each part, float32 [k 3 h w], loaded ahead by the loader's workers.

        An image that cannot be decoded is named in the loader's `problems`, and another one stands for it: leaving it
        out would change the batch after its labels were given.

        Raises:
            ImageError: not one image of the batch can be decoded.
        """
        loader = self.loader.limited(len(places))
        parts = [loader._part(self.step, self.whole, self.positions[place]) for place in places]
        for part, (_, pixels, _, failed, _) in zip(parts, loader._loaded(iter(parts)), strict=True):
            if failed:
                told = "Another image of its class stands for it in a batch."
                loader._failed.update({item: f"{sentence} {told}" for item, sentence in failed.items()})
                pixels = self._with_stand_ins(part, pixels, failed)
            assert pixels is not None, "nothing was left out"
            yield loader.transform.finish(pixels)

    def _with_stand_ins(self, part: _Part, pixels: torch.Tensor | None, failed: dict[int, str]) -> torch.Tensor:
        """All images of a part, from those that could be decoded; uint8 [k 3 h w]."""
        decoded: Iterator[torch.Tensor] = iter([] if pixels is None else pixels.unbind())
        items = part.whole[part.positions].tolist()
        return torch.stack([self._stand_in(item) if item in failed else next(decoded) for item in items])

    def _stand_in(self, broken: int) -> torch.Tensor:
        """The first image of the batch that can be decoded, of the same class if there is one; the same each time."""
        labels = self.loader.image_set.labels[self.whole]
        same_first = np.argsort(labels != self.loader.image_set.labels[broken], kind="stable")
        read = _Pixels(self.loader.image_set, self.loader.transform, self.loader.seed)
        for position in same_first.tolist():
            _, pixels, _, failed, _ = read[_Part(self.step, self.whole, np.array([position]))]
            if pixels is not None:
                return pixels[0]
        raise ImageError(f"No image of step {self.step} can be decoded; the first: {next(iter(failed.values()))}")


@dataclass(frozen=True)
class _Part:
    """A request: some positions of one batch."""

    step: int
    whole: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True)
class _Pixels(Dataset):
    """Makes the uint8 pixels of a part of one batch; runs in the worker process."""

    image_set: ImageSet
    transform: Transform
    seed: int
    with_contents: bool = False

    def __getitem__(self, part: _Part) -> Loaded:
        chosen = part.whole[part.positions]
        decoded = self.image_set.pixels
        if decoded is not None and self.image_set.foreign.keys().isdisjoint(chosen.tolist()):
            pixels = self.transform.decoded(decoded[chosen], self._drawn(part, part.positions))
            digests = torch.tensor([content_digest(decoded[item]) for item in chosen]) if self.with_contents else None
            return part.step, pixels, torch.from_numpy(chosen), {}, digests
        images, positions, failed, contents = [], [], {}, []
        for position, item in zip(part.positions.tolist(), chosen.tolist(), strict=True):
            try:
                image, content = self._image(item)
                images.append(image)
                positions.append(position)
                contents.append(content)
            except ImageError as error:
                failed[item] = str(error)
        if not images:
            return part.step, None, torch.zeros(0, dtype=torch.int64), failed, None
        made = self.transform.batch(images, self._drawn(part, positions))
        kept = torch.from_numpy(part.whole[positions])
        return part.step, made, kept, failed, torch.tensor(contents) if self.with_contents else None

    def _drawn(self, part: _Part, positions: Sequence[int] | np.ndarray) -> list[int] | None:
        """The seed of each of these positions, if the transform draws anything."""
        if not self.transform.random:
            return None
        return np.array(seeds(self.seed, part.step, len(part.whole)), dtype=np.uint64)[positions].tolist()

    def _image(self, item: int) -> tuple[Any, int]:
        """An image, and the digest of its content, 0 where none is taken."""
        pixels = self.image_set.pixels
        if item in self.image_set.foreign:
            return open_rgb(self.image_set.foreign[item]), 0
        if pixels is not None:
            return torch.from_numpy(pixels[item].copy()).permute(2, 0, 1), 0
        return self.image_set.with_content(item) if self.with_contents else (self.image_set.load(item), 0)


BESIDE_GPU = 8
"""Most processes beside a GPU."""

BESIDE_CPU = 4
"""Most processes where the processor trains as well; one for each four of its cores."""

A_PROCESS = 200 * MB
"""Memory that a forked process takes for itself, before it holds any image."""

SHARE = 4
"""Images that are loaded ahead may take one part in so many of the free memory."""

_reserved: int | None = None


def forks() -> bool:
    """Whether a new process is a copy of this one, ready at once; started anew, it loads its libraries for seconds."""
    return (multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]) == "fork"


def cores() -> int:
    """Cores of the processor that this process may use, divided among the processes of one training on this machine."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    usable = usable if _reserved is None else min(usable, _reserved)
    return usable // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


@contextmanager
def reserved(count: int) -> Iterator[None]:
    """Let `cores` be `count` at most: a cluster has reserved so many for this process, and keeps it from no other."""
    global _reserved
    before, _reserved = _reserved, count
    try:
        yield
    finally:
        _reserved = before


def num_workers(on_gpu: bool, in_memory: bool, part: int) -> int:
    """How many processes load images ahead of a training that does not say.

    A GPU trains so quickly that images come late from one process, even those that are decoded already; so there all
    cores but one load, up to `BESIDE_GPU`. On a processor the same cores train: images in memory are cropped between
    two steps, and for others one core in four decodes ahead. None is started that memory has no room for, nor where
    processes are started anew instead of forked, nor from a thread beside others (a page of the dashboard), whose locks
    a copy of the process would find taken for ever.

    Args:
        on_gpu: the training runs on a GPU.
        in_memory: images lie decoded in memory.
        part: bytes of the images that are loaded at once, one byte a colour.
    """
    if not forks() or threading.current_thread() is not threading.main_thread():
        return 0
    useful = min(BESIDE_GPU, cores() - 1) if on_gpu else 0 if in_memory else min(BESIDE_CPU, cores() // 4)
    room = psutil.virtual_memory().available // SHARE // (A_PROCESS + 2 * part)
    return max(0, min(useful, room))
