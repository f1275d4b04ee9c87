"""Base class of all batch samplers, which are bound to labels once and then compute a batch from the step alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np

from lab.core.knobs import HasKnobs
from lab.core.knobs import knob as knob
from lab.core.results import label_column, labelled, no_class


class Sampler(HasKnobs):
    """Base class of samplers, which choose the images of each training batch.

    An entry declares its knobs and defines `_bound` and `batch`. A batch depends on the seed and the step alone, so an
    interrupted run needs no sampler state to go on.

    A bound sampler is a batch sampler of torch: `DataLoader(images, batch_sampler=sampler)` yields `steps_per_epoch`
    batches, and other ones in each epoch. `set_epoch` chooses the epoch, to go on where a training stopped. With
    several processes give each one `sampler.shared(rank, world)`, and tell accelerate and Lightning not to divide the
    batches again (`use_distributed_sampler=False`).

    Attributes after `bind`:
        labels: int64 [n].
        drawn: int64 [m], positions of the images that have a class; only these are drawn.
        images: their number, m.
        seed, steps_per_epoch.
        epoch: the epoch of the next iteration.

    Example:
        >>> import lab, torch
        >>> from torch.utils.data import DataLoader, TensorDataset
        >>> images, labels = torch.randn(40, 3, 8, 8), torch.arange(40) // 8  # five classes of eight images
        >>> sampler = lab.samplers.create("m_per_class", batch_size=8, per_class=4).bind(labels)
        >>> loader = DataLoader(TensorDataset(images, labels), batch_sampler=sampler)
        >>> len(loader), sorted(len(torch.unique(classes)) for _, classes in loader)
        (5, [2, 2, 2, 2, 2])
    """

    epoch = 0
    _share = (0, 1)

    def bind(self, labels: Any, super_labels: np.ndarray | None = None, seed: int = 0) -> Self:
        """Bind the sampler to the labels [n] of the images; `super_labels` [n] are for samplers with a hierarchy.

        Args:
            labels: whole numbers or names. An image without a class (None, NaN, an empty text) is never drawn.

        Returns:
            the sampler itself.

        Raises:
            ValueError: no batch can be drawn from these labels; the message says why.
        """
        column = label_column(labels)
        if column.dtype.kind == "U":
            codes = np.unique(column, return_inverse=True)[1]
            column = np.where(labelled(column), codes, no_class(np.arange(len(column))))
        self.labels = column.astype(np.int64)
        self.seed = seed
        self.drawn = np.flatnonzero(labelled(self.labels))
        self.images = len(self.drawn)
        if not self.images:
            raise ValueError(
                f"{type(self).__name__} needs at least one image with a class, got {len(self.labels)} labels that name "
                "no class."
            )
        if super_labels is not None and len(super_labels) != len(self.labels):
            raise ValueError(
                f"{type(self).__name__} needs one super-label per image, got {len(super_labels)} for "
                f"{len(self.labels)} images."
            )
        if super_labels is not None:
            super_labels = np.asarray(super_labels, dtype=np.int64)
        self._bound(super_labels)
        return self

    def _bound(self, super_labels: np.ndarray | None) -> None:
        """Validate the labels and prepare the attributes that `batch` reads."""
        raise NotImplementedError(f"{type(self).__name__} must define _bound.")

    def batch(self, step: int) -> np.ndarray:
        """Return the positions of the images of one step (0, 1, ...), int64 [batch_size]."""
        raise NotImplementedError(f"{type(self).__name__} must define batch.")

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches that hold about as many images as the data set."""
        if not hasattr(self, "images"):
            raise ValueError(f"{type(self).__name__} has no labels yet; call bind(labels) first.")
        return max(1, self.images // self.knobs.batch_size)

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the positions of the images of each step of one epoch; the next iteration is the next epoch."""
        steps = self.steps_per_epoch
        epoch = self.epoch
        # Count the epoch with its first batch: a DataLoader with workers creates two iterators and uses one.
        self.epoch += 1
        rank, world = self._share
        for step in range(epoch * steps, (epoch + 1) * steps):
            yield np.array_split(self.batch(step), world)[rank].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch (0, 1, ...) of the next iteration; Lightning calls this method, too."""
        self.epoch = epoch

    def shared(self, rank: int, world: int) -> Self:
        """Return a copy for one of several processes; it yields part `rank` of the `world` parts of each batch.

        Raises:
            ValueError: there is no such process, or a batch has fewer images than there are processes.
        """
        if not 0 <= rank < world <= self.knobs.batch_size:
            raise ValueError(
                f"{type(self).__name__}: rank and world must satisfy 0 <= rank < world <= batch_size "
                f"({self.knobs.batch_size}), got {rank} and {world}."
            )
        share = copy.copy(self)
        share._share = (rank, world)
        return share


ShortClasses = Literal["refuse", "leave_out", "repeat", "with_replacement"]
"""Treatment of classes with fewer images than a batch takes of each class.

refuse: raise ValueError. leave_out: never draw them. repeat: draw every image of the class equally often.
with_replacement: draw each image from the whole class independently, as the code of 001 does.
"""


def members_by_class(
    labels: np.ndarray, per_class: int, short_classes: ShortClasses, who: str
) -> list[np.ndarray]:
    """Group the positions of the images by class, without the classes that are not used.

    Args:
        labels: int64 [n]; an image without a class is in no group.
        per_class: number of images that a batch takes of each class.
        short_classes: treatment of classes that have fewer images.
        who: the sampler's name, for messages.

    Raises:
        ValueError: there are such classes and `short_classes` is `refuse`.
    """
    with_class = np.flatnonzero(labelled(labels))
    order = with_class[np.argsort(labels[with_class], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    large_enough = [group for group in groups if len(group) >= per_class]
    if short_classes == "refuse" and len(large_enough) < len(groups):
        smallest = min(groups, key=len)
        raise ValueError(
            f"{who} takes {per_class} images of a class, but {len(groups) - len(large_enough)} of {len(groups)} "
            f"classes have fewer (label {labels[smallest[0]]} has {len(smallest)}). Lower per_class, or set "
            "short_classes to leave_out or repeat."
        )
    if short_classes in ("repeat", "with_replacement"):
        return groups
    return large_enough


def draw(
    random: np.random.Generator,
    classes: list[np.ndarray],
    per_class: int,
    short_classes: ShortClasses = "repeat",
) -> np.ndarray:
    """Draw `per_class` different images of each class, class by class; `short_classes` says how if there are fewer."""
    drawn = []
    for members in classes:
        if len(members) < per_class and short_classes == "with_replacement":
            drawn.append(random.choice(members, per_class))
            continue

        # A short class is repeated as a whole as often as it fits; the rest is drawn without replacement.
        repeats, rest = divmod(per_class, len(members))
        drawn += [members] * repeats
        drawn.append(random.permutation(members)[:rest])
    return np.concatenate(drawn)


def shuffled_lap(seed: int, step: int, count: int, per_step: int) -> np.ndarray:
    """Return which `per_step` of `count` things are drawn in a step, so that each is drawn once per lap.

    Every lap has another order. Things left over at the end of a lap (`count` modulo `per_step`) are skipped; others
    are skipped in the next lap.
    """
    steps_per_lap = count // per_step
    lap, turn = divmod(step, steps_per_lap)
    return _lap(seed, lap, count)[turn * per_step : (turn + 1) * per_step]


@lru_cache(maxsize=4)
def _lap(seed: int, lap: int, count: int) -> np.ndarray:
    """Shuffle one lap. The order is cached: a million classes take 30 ms to shuffle, too long for every batch."""
    order = np.random.default_rng((seed, lap)).permutation(count)
    order.flags.writeable = False
    return order
