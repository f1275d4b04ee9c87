"""Load batches of tensors in order, decoded ahead by worker processes; any number of workers gives the same batches."""

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
[n], a digest of the content of each image, or None."""


@dataclass(frozen=True)
class LoadedBatch(Generic[Images]):
    """A batch with its labels.

    images: float32 [n 3 h w], normalised, or loaded part by part. labels: int64 [n]. items: int64 [n], positions in
    the data set.
    """

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
        contents: int64, the digest of the content of each image of the set (`ImageSet.with_content`); 0 if no digest
            was taken.
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
        self.image_set = image_set
        self.transform = transform
        self.seed = seed
        self.workers = workers
        self.pin_memory = pin_memory
        self.share = (0, 1)
        self._failed: dict[int, str] = {}
        self.with_contents = with_contents
        self.contents = np.zeros(len(image_set), np.int64)

    @property
    def problems(self) -> list[str]:
        return list(self._failed.values())

    def shared(self, rank: int, world: int) -> Loader:
        """Return a copy for one of several processes, which loads its part of every batch, with the crops that the
        whole batch would have; both name the same problems."""
        other = copy.copy(self)
        other.share = (rank, world)
        return other

    def batches(
        self, items: Iterable[np.ndarray], first_step: int = 0, skip_lost: bool = False
    ) -> Batches[torch.Tensor]:
        """Yield one batch for each array of positions; `first_step` is the step of the first, for a resumed run.

        `items` is read ahead by up to two batches a worker.

        Args:
            skip_lost: leave out a batch of which no image can be decoded, too.

        Raises:
            ImageError: not one image of a batch can be decoded.
        """
        _ = self.image_set.pixels  # decoded before the workers are forked, not once in each of them
        labels = torch.from_numpy(self.image_set.labels)
        parts = (
            self._part(step, whole, self._positions(len(whole)))
            for step, whole in enumerate(items, first_step)
        )
        for step, pixels, kept, failed, contents in self._loaded(parts):
            self._failed.update(failed)
            if contents is not None:
                self.contents[kept.numpy()] = contents.numpy()
            if pixels is None and skip_lost:
                continue
            if pixels is None:
                raise ImageError(
                    f"No image of step {step} can be decoded; the first: {next(iter(failed.values()))}"
                )
            yield LoadedBatch(self.transform.finish(pixels), labels[kept], kept)

    def streamed(self, items: Iterable[np.ndarray], first_step: int = 0) -> Batches[Streamed]:
        """Yield batches as `batches` does, but load images only when they are needed, part by part."""
        _ = self.image_set.pixels
        labels = torch.from_numpy(self.image_set.labels)
        for step, whole in enumerate(items, start=first_step):
            positions = self._positions(len(whole))
            kept = torch.from_numpy(np.asarray(whole)[positions])
            yield LoadedBatch(
                Streamed(self, step, np.asarray(whole), positions), labels[kept], kept
            )

    def _positions(self, count: int) -> np.ndarray:
        """Return the positions, in a batch of so many images, of the images that this process loads."""
        rank, world = self.share
        return np.array_split(np.arange(count), world)[rank]

    def _part(self, step: int, whole: np.ndarray, positions: np.ndarray) -> _Part:
        """Request some positions of one batch; a ValueError if there are several images and they differ in size."""
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
        """Yield all of `items` in order, `batch_size` at a time, as evaluation needs them."""
        parts = [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
        return self.limited(len(parts)).batches(parts, skip_lost=True)

    def limited(self, parts: int) -> Loader:
        """Return a copy with no more processes than there are parts, and none for one; both name the same problems."""
        other = copy.copy(self)
        other.workers = min(self.workers, parts) if parts > 1 else 0
        return other


@dataclass(frozen=True)
class Streamed:
    """The images of one batch, decoded again whenever they are needed, and the same each time.

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
        """Return some of the images, float32 [k 3 h w]."""
        (images,) = self.parts([places])
        return images

    def split(self, size: int) -> list[slice]:
        """Return the parts of at most `size` images, as arguments for `parts`."""
        return [slice(start, start + size) for start in range(0, len(self), size)]

    def parts(self, places: Sequence[slice]) -> Iterator[torch.Tensor]:
        """Yield the images of each part, float32 [k 3 h w], loaded ahead by the loader's workers.

        An image that cannot be decoded is named in the loader's `problems`, and another image replaces it: leaving it
        out would change the batch after its labels were given.

        Raises:
            ImageError: not one image of the batch can be decoded.
        """
        loader = self.loader.limited(len(places))
        parts = [loader._part(self.step, self.whole, self.positions[place]) for place in places]
        for part, (_, pixels, _, failed, _) in zip(parts, loader._loaded(iter(parts)), strict=True):
            if failed:
                for item, sentence in failed.items():
                    loader._failed[item] = (
                        f"{sentence} Another image of its class stands for it in a batch."
                    )
                pixels = self._with_stand_ins(part, pixels, failed)
            assert pixels is not None, "nothing was left out"
            yield loader.transform.finish(pixels)

    def _with_stand_ins(
        self, part: _Part, pixels: torch.Tensor | None, failed: dict[int, str]
    ) -> torch.Tensor:
        """Return all images of a part, with stand-ins for those that could not be decoded; uint8 [k 3 h w]."""
        decoded: Iterator[torch.Tensor] = iter([] if pixels is None else pixels.unbind())
        images = []
        for item in part.whole[part.positions].tolist():
            images.append(self._stand_in(item) if item in failed else next(decoded))
        return torch.stack(images)

    def _stand_in(self, broken: int) -> torch.Tensor:
        """Return the first image of the batch that can be decoded, of the same class if there is one."""
        labels = self.loader.image_set.labels[self.whole]
        same_first = np.argsort(labels != self.loader.image_set.labels[broken], kind="stable")
        read = _Pixels(self.loader.image_set, self.loader.transform, self.loader.seed)
        for position in same_first.tolist():
            _, pixels, _, failed, _ = read[_Part(self.step, self.whole, np.array([position]))]
            if pixels is not None:
                return pixels[0]
        raise ImageError(
            f"No image of step {self.step} can be decoded; the first: {next(iter(failed.values()))}"
        )


@dataclass(frozen=True)
class _Part:
    """A request: some positions of one batch."""

    step: int
    whole: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True)
class _Pixels(Dataset):
    """Decodes a part of one batch to uint8 pixels; runs in the worker process."""

    image_set: ImageSet
    transform: Transform
    seed: int
    with_contents: bool = False

    def __getitem__(self, part: _Part) -> Loaded:
        chosen = part.whole[part.positions]
        decoded = self.image_set.pixels
        if decoded is not None and self.image_set.foreign.keys().isdisjoint(chosen.tolist()):
            pixels = self.transform.decoded(decoded[chosen], self._drawn(part, part.positions))
            digests = None
            if self.with_contents:
                digests = torch.tensor([content_digest(decoded[item]) for item in chosen])
            return part.step, pixels, torch.from_numpy(chosen), {}, digests
        images = []
        positions = []
        contents = []
        failed = {}
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
        pixels = self.transform.batch(images, self._drawn(part, positions))
        kept = torch.from_numpy(part.whole[positions])
        digests = torch.tensor(contents) if self.with_contents else None
        return part.step, pixels, kept, failed, digests

    def _drawn(self, part: _Part, positions: Sequence[int] | np.ndarray) -> list[int] | None:
        """Return the seed of each of these positions, or None if the transform draws nothing."""
        if not self.transform.random:
            return None
        return np.array(seeds(self.seed, part.step, len(part.whole)), dtype=np.uint64)[
            positions
        ].tolist()

    def _image(self, item: int) -> tuple[Any, int]:
        """Return an image, and the digest of its content, or 0 if none is taken."""
        pixels = self.image_set.pixels
        if item in self.image_set.foreign:
            return open_rgb(self.image_set.foreign[item]), 0
        if pixels is not None:
            return torch.from_numpy(pixels[item].copy()).permute(2, 0, 1), 0
        if self.with_contents:
            return self.image_set.with_content(item)
        return self.image_set.load(item), 0


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
    """Return whether a new process is a fork of this one; a process that is spawned imports its libraries for
    seconds."""
    method = (
        multiprocessing.get_start_method(allow_none=True)
        or multiprocessing.get_all_start_methods()[0]
    )
    return method == "fork"


def cores() -> int:
    """Return the cores that this process may use, divided among the processes of one training on this machine."""
    usable = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    if _reserved is not None:
        usable = min(usable, _reserved)
    return usable // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


@contextmanager
def reserved(count: int) -> Iterator[None]:
    """Limit `cores` to `count`: a cluster has reserved so many cores for this process, and enforces no limit."""
    global _reserved
    before = _reserved
    _reserved = count
    try:
        yield
    finally:
        _reserved = before


def num_workers(on_gpu: bool, in_memory: bool, part: int) -> int:
    """Return how many processes load images ahead, for a training that does not say.

    A GPU trains so quickly that one process cannot load images fast enough, even those that are decoded already; so
    all cores but one load, up to `BESIDE_GPU`. On a processor the same cores train: images in memory are cropped
    between two steps, and for others one core in four decodes ahead. No process is started for which there is no
    memory, none where processes are spawned and not forked, and none from a thread beside others (a page of the
    dashboard), whose locks a fork would find taken for ever.
    Args:
        on_gpu: the training runs on a GPU.
        in_memory: images lie decoded in memory.
        part: bytes of the images that are loaded at once, one byte a colour.
    """
    if not forks() or threading.current_thread() is not threading.main_thread():
        return 0
    if on_gpu:
        useful = min(BESIDE_GPU, cores() - 1)
    elif in_memory:
        useful = 0
    else:
        useful = min(BESIDE_CPU, cores() // 4)
    room = psutil.virtual_memory().available // SHARE // (A_PROCESS + 2 * part)
    return max(0, min(useful, room))
