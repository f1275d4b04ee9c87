"""Class weights shared out by class: each process holds, and updates, those of its own classes (partial FC).

A softmax over all classes needs two numbers an example of the other processes: the largest logit and the sum of
exponentials. So neither the weights, nor their optimiser's state, nor the logits [n c] are ever in one place.
(An et al. 2021, Partial FC, of whose two ideas this is the first; none of the classes is left out.)
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from lab.kernels import Peak, sharing
from lab.losses._base import ClassKnobs, ClassLoss
from lab.losses._batch import Batch

BLOCK = 4096
"""Classes that get their first weights from one seed, so that these do not depend on the number of processes."""


class ClassShards(ClassLoss):
    """A softmax loss over classes of which this process holds some; made by `sharded`.

    loss: the loss of this process's classes alone. first, last: which classes these are, last not included.
    """

    class Knobs(ClassKnobs):
        pass

    def __init__(self, kind: type[ClassLoss], seed: int, num_classes: int, dim: int, **knobs: Any):
        super().__init__(num_classes=num_classes, dim=dim)
        self.rank, self.world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        if num_classes < self.world:
            raise ValueError(
                f"Class weights are shared out by class, but there are {num_classes} classes for {self.world} "
                "processes; start fewer processes."
            )
        if not kind.softmax:
            raise ValueError(
                f"{kind.__name__} is no softmax over classes, so its class weights cannot be shared out; choose "
                "cross_entropy, normalized_softmax, arc_face, cos_face or proxy_nca, or keep the weights whole."
            )
        classes = sharing.Share(self.rank, self.world).own(num_classes)
        self.first, self.last = classes.start, classes.stop
        self.loss = kind(num_classes=self.last - self.first, dim=dim, **knobs)
        self.cosine, self.lengths_matter, self.family = kind.cosine, kind.lengths_matter, kind.family
        self._begin(kind, seed, knobs)

    @property
    def peak(self) -> Peak | None:
        """That of the loss of the own classes."""
        return self.loss.peak

    @property
    def class_axis(self) -> int:
        """The axis of classes in each of the weights."""
        return self.loss.class_axis

    def _begin(self, kind: type[ClassLoss], seed: int, knobs: dict[str, Any]) -> None:
        """First weights of the own classes, block by block."""
        for start in range(self.first // BLOCK * BLOCK, self.last, BLOCK):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed((seed << 32) + start)
                block = kind(num_classes=min(BLOCK, self.knobs.num_classes - start), dim=self.knobs.dim, **knobs)
            low, high = max(start, self.first), min(start + BLOCK, self.last)
            for shard, drawn in zip(self.loss.parameters(), block.parameters(), strict=True):
                axis = self.class_axis if shard.ndim > 1 else 0
                shard.data.narrow(axis, low - self.first, high - low).copy_(
                    drawn.data.narrow(axis, low - start, high - low)
                )

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.values(batch, **kwargs).mean()

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        share = sharing.current()
        if share.world != self.world:
            raise ValueError(
                f"This loss holds the classes {self.first} to {self.last - 1} of {self.knobs.num_classes}; call it in "
                "all processes, inside lab.losses.gathered or by `lab train`."
            )
        targets = batch.query_labels - self.first
        here = (targets >= 0) & (targets < self.last - self.first)
        targets = torch.where(here, targets, -1)
        logits = self.loss.logits(share.entering(batch.queries), targets)
        highest = share.largest(logits.detach().amax(1))
        wanted = torch.where(here, logits.gather(1, targets.clamp_min(0)[:, None])[:, 0], 0)
        exponentials = torch.exp(logits - highest[:, None]).sum(1)
        smoothing = getattr(self.loss.knobs, "label_smoothing", 0.0)
        parts = [exponentials, wanted, logits.sum(1)] if smoothing else [exponentials, wanted]
        sums = share.summed(torch.stack(parts)).unbind()
        aim = sums[1] if not smoothing else (1 - smoothing) * sums[1] + smoothing * sums[2] / self.knobs.num_classes
        return highest + sums[0].log() - aim


def sharded(kind: type[ClassLoss], num_classes: int, dim: int, seed: int = 0, **knobs: Any) -> ClassShards:
    """A softmax loss whose class weights are shared out by class over the processes of torch.distributed.

    Every process calls this with the same arguments, gives the loss's weights to its optimiser as they are, and calls
    the loss inside `gathered`. It is then the loss of one process with all classes, to rounding. First weights
    depend on the seed and the class alone.

    Args:
        kind: cross_entropy, normalized_softmax, arc_face, cos_face or proxy_nca; `lab.losses.get` finds it by name.

    A process of W holds c / W classes and [n c / W] logits. A step sends two numbers an example, three with label
    smoothing, and the reduce-scatter of `gathered`.

    Raises:
        ValueError: the loss is another, or there are fewer classes than processes.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.sharded(lab.losses.get("arc_face"), num_classes=6, dim=2)
        >>> (loss.first, loss.last), loss.loss.inner.W.shape  # a single process
        ((0, 6), torch.Size([2, 6]))
    """
    return ClassShards(kind, seed, num_classes=num_classes, dim=dim, **knobs)
