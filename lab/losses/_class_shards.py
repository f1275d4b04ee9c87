"""Class weights shared out by class: each process holds, and updates, those of its own classes (partial FC).

A softmax over all classes needs two numbers an example of the other processes: the largest logit and the sum of
exponentials. So neither the weights, nor their optimiser's state, nor the logits [n c] are ever in one place.
(An et al. 2021, Partial FC, of whose two ideas this is the first; none of the classes is left out.) A loss that is no
softmax says itself what its part is, in `part_values` and `part_total`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from lab.kernels import sharing
from lab.losses._base import ClassLoss
from lab.losses._batch import Batch

BLOCK = 4096
"""Classes that get their first weights from one seed, so that these do not depend on the number of processes."""


class ClassShards(ClassLoss):
    """A loss over classes of which this process holds some; made by `sharded`.

    loss: the loss of this process's classes alone. first, last: which classes these are, last not included.
    """

    def __init__(self, kind: type[ClassLoss], seed: int, num_classes: int, dim: int, **knobs: Any):
        super().__init__(num_classes=num_classes, dim=dim)
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        if num_classes < world:
            raise ValueError(
                f"Class weights are shared out by class, but there are {num_classes} classes for {world} processes; "
                "start fewer processes."
            )
        if not getattr(kind, "shares_classes", False):
            raise ValueError(
                f"{kind.__name__} has no weights that can be shared out by class; choose a loss that has, for instance "
                "arc_face, proxy_anchor or class_anchor_margin, or keep the weights whole."
            )
        self.part = sharing.Part(sharing.Share(rank, world), num_classes)
        self.first, self.last = self.part.first, self.part.last
        held = self.last - self.first
        self.loss = kind.of_part(self.first, held, num_classes=num_classes, dim=dim, **knobs)
        for fact in ("cosine", "lengths_matter", "family", "mean_of_queries", "shares_add_up"):
            setattr(self, fact, getattr(self.loss, fact))
        self._begin(kind, seed, knobs)

    @property
    def class_axis(self) -> int:
        """The axis of classes in each of the weights."""
        return self.loss.class_axis

    def _begin(self, kind: type[ClassLoss], seed: int, knobs: dict[str, Any]) -> None:
        """First weights of the own classes, block by block."""
        count, dim = self.knobs.num_classes, self.knobs.dim
        for start in range(self.first // BLOCK * BLOCK, self.last, BLOCK):
            size = min(BLOCK, count - start)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed((seed << 32) + start)
                block = kind.of_part(start, size, num_classes=count, dim=dim, **knobs)
            low, high = max(start, self.first), min(start + BLOCK, self.last)
            for shard, drawn in zip(self.loss.parameters(), block.parameters(), strict=True):
                axis = self.class_axis if shard.ndim > 1 else 0
                rows = drawn.shape[axis] // size  # of a class
                taken = drawn.data.narrow(axis, rows * (low - start), rows * (high - low))
                shard.data.narrow(axis, rows * (low - self.first), rows * (high - low)).copy_(taken)

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.part_total(batch, self._shared())

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.part_values(batch, self._shared())

    def _shared(self) -> sharing.Part:
        """The own classes and the processes that compute the loss now.

        Raises:
            ValueError: they are not those that hold the other classes.
        """
        share = sharing.current()
        if share.world != self.part.share.world:
            raise ValueError(
                f"This loss holds the classes {self.first} to {self.last - 1} of {self.knobs.num_classes}; call it in "
                "all processes, inside lab.losses.gathered or by `lab train`."
            )
        return sharing.Part(share, self.knobs.num_classes)


def sharded(kind: type[ClassLoss], num_classes: int, dim: int, seed: int = 0, **knobs: Any) -> ClassShards:
    """A loss whose class weights are shared out by class over the processes of torch.distributed.

    Every process calls this with the same arguments, gives the loss's weights to its optimiser as they are, and calls
    the loss inside `gathered`. It is then the loss of one process with all classes, to rounding. First weights
    depend on the seed and the class alone.

    Args:
        kind: a loss with weights of classes, for instance arc_face, cross_entropy, proxy_anchor, soft_triple or
            class_anchor_margin; `lab.losses.get` finds it by name.

    A process of W holds c / W classes and [n c / W] logits. A step sends two numbers an example, three with label
    smoothing, two in all for proxy_anchor, and the reduce-scatter of `gathered`. The repeller of class_anchor_margin
    compares all anchors, so they are sent once to everyone, [c d] a step, and forgotten; a process computes c^2 / W
    distances.

    Raises:
        ValueError: the loss has no such weights, or there are fewer classes than processes.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.sharded(lab.losses.get("arc_face"), num_classes=6, dim=2)
        >>> (loss.first, loss.last), loss.loss.inner.W.shape  # a single process
        ((0, 6), torch.Size([2, 6]))
    """
    return ClassShards(kind, seed, num_classes=num_classes, dim=dim, **knobs)
