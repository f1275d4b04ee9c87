"""Compute one loss in several processes: each computes some of the tiles, and the sums of all are added.

All processes run the same program on the same rows, those of everyone. Within `among`, a kernel walks its own part only
and adds up the sums of all, a number or two a positive pair, so that everything that follows is the same in each
process. Its gradient is then only a part. It is multiplied by the number of processes, and the gradient of the rows is
in the end averaged over them (`gathering.mean_of_local_rows`), so that what each process computed whole counts once. No
loss, wrapper or memory knows of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from lab.kernels import gathering

Place = TypeVar("Place")


class Share:
    """The part of a kernel's work that this process does.

    rank: its number from 0. world: how many processes there are; 1 where nothing is shared.
    split: whether a kernel took a part only, so that gradients are to be averaged. sent: bytes given to collectives.
    """

    def __init__(self, rank: int = 0, world: int = 1):
        self.rank = rank
        self.world = world
        self.split = False
        self.sent = 0

    def places(self, everyone: Iterable[Place]) -> list[Place]:
        """Return every world-th of some equal pieces of work."""
        return list(everyone)[self.rank :: self.world]

    def rows(self, weights: Tensor) -> slice:
        """A run of rows whose work, [n], is this process's part of the whole."""
        if self.world == 1:
            return slice(0, len(weights))
        before = torch.nn.functional.pad(weights.cumsum(0), (1, 0))
        edges = [before[-1] * rank // self.world for rank in (self.rank, self.rank + 1)]
        start, stop = (int(torch.searchsorted(before, edge)) for edge in edges)
        return slice(start, stop if self.rank + 1 < self.world else len(weights))

    def even(self, count: int) -> list[int]:
        """Return the number of rows of each process, by rank."""
        return [
            count * (rank + 1) // self.world - count * rank // self.world
            for rank in range(self.world)
        ]

    def sum(self, *parts: Tensor) -> tuple[Tensor, ...]:
        """Sum tensors of one type over all processes in one collective."""
        if self.world == 1:
            return parts
        self.split = True
        flat = torch.cat([part.reshape(-1) for part in parts])
        self.sent += flat.nbytes
        dist.all_reduce(flat)
        sums = flat.split([part.numel() for part in parts])
        return tuple(whole.view(part.shape) for whole, part in zip(sums, parts, strict=True))

    def join(self, local: Tensor, sizes: Sequence[int]) -> Tensor:
        """Concatenate the rows of all processes, by rank; `sizes` are their numbers."""
        if self.world == 1:
            return local
        self.split = True
        self.sent += local.nbytes
        return gathering.rows_of_all(local, sizes)

    def part_of_mean(self, gradient: Tensor) -> Tensor:
        """A gradient of which each process has a part, made such that the mean over processes is the whole."""
        return gradient if self.world == 1 else gradient * self.world

    def local(self, count: int) -> slice:
        """This process's run of so many rows that are alike."""
        sizes = self.even(count)
        first = sum(sizes[: self.rank])
        return slice(first, first + sizes[self.rank])

    def entering(self, rows: Tensor) -> Tensor:
        """The same rows, for a part of the work whose gradient has to be made by `part_of_mean`."""
        return rows if self.world == 1 else _Entering.apply(rows, self)

    def summed(self, part: Tensor) -> Tensor:
        """`sum` of one tensor, differentiable: each part gets the gradient of the sum."""
        return part if self.world == 1 else _Summed.apply(part, self)

    def largest(self, part: Tensor) -> Tensor:
        """Return the elementwise maximum over all processes, without a gradient."""
        if self.world > 1:
            self.sent += part.nbytes
            dist.all_reduce(part, dist.ReduceOp.MAX)
        return part


class _Entering(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, share: Share) -> Tensor:
        ctx.share = share
        return rows.view_as(rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.share.part_of_mean(gradients[0]), None


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor, share: Share) -> Tensor:
        return share.sum(part.detach())[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


ALONE = Share()

_current: ContextVar[Share] = ContextVar("share", default=ALONE)


def current() -> Share:
    """Return this process's part of the current loss; outside `among` this is the whole loss."""
    return _current.get()


@contextlib.contextmanager
def among(share: Share) -> Iterator[Share]:
    """Within the block kernels take this part. All processes have to compute the same loss of the same rows."""
    before = _current.set(share)
    try:
        yield share
    finally:
        _current.reset(before)
