"""What every batch sampler is: bound to labels once, then a pure function of the step."""

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
    """Chooses the images of each training batch. An entry declares its knobs and defines `_bound` and `batch`.

    The batch depends on the seed and the step alone, so an interrupted run needs no sampler state to go on.

    Bound, it is a batch sampler of torch: `DataLoader(images, batch_sampler=sampler)` shows `steps_per_epoch` batches,
    and others each time it is iterated; `set_epoch` says which, to go on where a training stopped. With several
    processes give each `sampler.shared(rank, world)`, and keep accelerate and Lightning from sharing the batches out
    once more (`use_distributed_sampler=False`).

    Attributes after `bind`: `labels` int64 [n], `drawn` int64 [m], positions of the images that have a class, which
    alone are drawn, `images` (m), `seed`, `steps_per_epoch`. epoch: what the next iteration shows.

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
        """Take the labels [n] of the images to draw from; `super_labels` [n] for samplers that use a hierarchy.

        Args:
            labels: whole numbers or names. An image without a class (None, NaN, an empty text) is never drawn.

        Returns:
            the sampler itself.

        Raises:
            ValueError: no batch can be made of these labels; the sentence says why.
        """
        column = label_column(labels)
        if column.dtype.kind == "U":
            codes = np.unique(column, return_inverse=True)[1]
            column = np.where(labelled(column), codes, no_class(np.arange(len(column))))
        self.labels, self.seed = column.astype(np.int64), seed
        self.drawn = np.flatnonzero(labelled(self.labels))
        self.images = len(self.drawn)
        if not self.images:
            raise ValueError(
                f"{type(self).__name__} needs labels [n] with n > 0, got {len(self.labels)} that name no class."
            )
        if super_labels is not None and len(super_labels) != len(self.labels):
            raise ValueError(
                f"{type(self).__name__} needs one super-label an image, got {len(super_labels)} for "
                f"{len(self.labels)} images."
            )
        self._bound(None if super_labels is None else np.asarray(super_labels, dtype=np.int64))
        return self

    def _bound(self, super_labels: np.ndarray | None) -> None:
        """Check the labels and prepare what `batch` needs."""
        raise NotImplementedError(f"{type(self).__name__} must define _bound.")

    def batch(self, step: int) -> np.ndarray:
        """Positions in the labels of the images of one step (0, 1, ...): int64 [batch_size]."""
        raise NotImplementedError(f"{type(self).__name__} must define batch.")

    @property
    def steps_per_epoch(self) -> int:
        """Batches that show about as many images as there are."""
        if not hasattr(self, "images"):
            raise ValueError(f"{type(self).__name__} has no labels yet: call bind(labels) first.")
        return max(1, self.images // self.knobs.batch_size)

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[list[int]]:
        """Positions of the images of each step of one epoch; the next iteration shows the next epoch."""
        steps, epoch = self.steps_per_epoch, self.epoch
        self.epoch += 1  # with the first batch: a DataLoader with workers makes two iterators and uses one
        rank, world = self._share
        for step in range(epoch * steps, (epoch + 1) * steps):
            yield np.array_split(self.batch(step), world)[rank].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch (0, 1, ...) the next iteration shows; Lightning calls it, too."""
        self.epoch = epoch

    def shared(self, rank: int, world: int) -> Self:
        """The same sampler, iterated as one of several processes: each batch is cut into `world` parts, by rank.

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
"""What becomes of classes with fewer images than a batch takes of one: an error; they do not train; each image comes as
often as the next (repeat); or each is drawn from all of the class anew (with_replacement, as the code of 001 does)."""


def members_by_class(labels: np.ndarray, per_class: int, short_classes: ShortClasses, who: str) -> list[np.ndarray]:
    """Positions of the images of each usable class. An image without a class is in none.

    Args:
        labels: int64 [n].
        per_class: images that a batch takes of a class.
        short_classes: what to do with classes that have fewer images.
        who: the sampler's name, for messages.

    Raises:
        ValueError: there are such classes and `short_classes` is `refuse`.
    """
    known = np.flatnonzero(labelled(labels))
    order = known[np.argsort(labels[known], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    enough = [group for group in groups if len(group) >= per_class]
    if short_classes == "refuse" and len(enough) < len(groups):
        fewest = min(groups, key=len)
        raise ValueError(
            f"{who} takes {per_class} images of a class, but {len(groups) - len(enough)} of {len(groups)} classes have "
            f"fewer (label {labels[fewest[0]]} has {len(fewest)}). Lower per_class, or set short_classes to "
            "leave_out or repeat."
        )
    return groups if short_classes in ("repeat", "with_replacement") else enough


def draw(
    random: np.random.Generator, classes: list[np.ndarray], per_class: int, short_classes: ShortClasses = "repeat"
) -> np.ndarray:
    """`per_class` different images of each class, class by class; of a class with fewer as `short_classes` says."""
    drawn = []
    for members in classes:
        if len(members) < per_class and short_classes == "with_replacement":
            drawn.append(random.choice(members, per_class))
            continue
        laps, rest = divmod(per_class, len(members))
        drawn += [members] * laps + [random.permutation(members)[:rest]]
    return np.concatenate(drawn)


def shuffled_lap(seed: int, step: int, count: int, per_step: int) -> np.ndarray:
    """The `per_step` of `count` things whose turn it is, so that all get their turn once a lap; order new each lap.

    Things left over at the end of a lap (`count` modulo `per_step`) wait; other ones do in the next lap.
    """
    steps_per_lap = count // per_step
    lap, turn = divmod(step, steps_per_lap)
    return _lap(seed, lap, count)[turn * per_step : (turn + 1) * per_step]


@lru_cache(maxsize=4)
def _lap(seed: int, lap: int, count: int) -> np.ndarray:
    """The order of one lap: a million classes take 30 ms to shuffle, too long for every batch."""
    order = np.random.default_rng((seed, lap)).permutation(count)
    order.flags.writeable = False
    return order
