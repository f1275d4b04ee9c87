"""One batch out of the batches of several processes, for loops that are not ours: DDP, accelerate, Lightning, FSDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lab.kernels import gathering

UNREADABLE = -1
"""Told to the other processes in place of a shape that makes no batch."""


class Gathered(nn.Module):
    """Computes a loss over the embeddings and labels of all processes; see `gathered`."""

    def __init__(self, loss: Callable[..., Tensor], reduction: Literal["mean", "sum"] = "mean"):
        super().__init__()
        if not callable(loss):
            raise ValueError(f"gathered needs a loss to wrap, got {type(loss).__name__}; create it first.")
        if reduction not in ("mean", "sum"):
            raise ValueError(f"gathered: reduction must be mean or sum, got {reduction!r}.")
        self.loss, self.reduction = loss, reduction

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: Any = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """The loss of everyone's batch, [], the same in every process.

        Args:
            embeddings: float [n d]; every process may bring another n.
            labels: whole numbers [n], numbered alike in all processes.
            indices_tuple: must be None: mined pairs would count within one process. Mine inside the wrapped callable.
            ref_emb, ref_labels: [r d] and [r], gathered, too.
            kwargs: handed on.

        Raises:
            ValueError: a process brings something that makes no batch. Raised in all of them, so that none waits.
        """
        if indices_tuple is not None:
            raise ValueError(
                "gathered takes no mined pairs, which count within one process; mine inside the loss: "
                "gathered(lambda rows, labels: loss(rows, labels, miner(rows, labels)))."
            )
        if not _several():
            references = {} if ref_emb is None else {"ref_emb": ref_emb, "ref_labels": ref_labels}
            return self.loss(embeddings, labels, **references, **kwargs)
        sides: list[tuple[Any, Any]] = [(embeddings, labels)]
        if ref_emb is not None:
            sides.append((ref_emb, ref_labels))
        scale = dist.get_world_size() if self.reduction == "mean" else 1
        seed, everyone = 0, []
        for rows, own_labels in sides:
            sizes, seed = _sizes(rows, own_labels)
            everyone += [_Everyone.apply(rows, sizes, scale), gathering.rows_of_all(own_labels.to(rows.device), sizes)]
            if ref_emb is None or rows is embeddings:
                self._name_images(sizes)
        references = dict(zip(("ref_emb", "ref_labels"), everyone[2:], strict=False))
        # All draw the same random numbers, so that all compute the same loss and the backward pass sends nothing.
        with torch.random.fork_rng(devices=[embeddings.device] if embeddings.is_cuda else []):
            torch.manual_seed(seed)
            return self.loss(everyone[0], everyone[1], **references, **kwargs)

    def _name_images(self, sizes: Sequence[int]) -> None:
        """Everyone's images for a memory that keeps them one by one (`cross_batch_memory` with `unique`)."""
        for module in self.modules():
            images: Any = getattr(module, "images_of_batch", None)
            if images is not None:
                module.images_of_batch = gathering.rows_of_all(images, sizes)


def gathered(loss: Callable[..., Tensor], reduction: Literal["mean", "sum"] = "mean") -> Gathered:
    """A loss over the batches of all processes, with the gradients of one process that has the whole batch.

    A ranking loss compares every image with every other, so under DDP, accelerate, Lightning or FSDP each process alone
    would see only its share. This gathers embeddings and labels, computes the whole loss in each process, and hands
    each its own rows' gradient. Works for any callable of embeddings and labels, memories and class weights included;
    each process ends with the same memory. Without other processes it is the loss itself.

    Args:
        loss: one of ours, or any callable in pytorch-metric-learning's convention.
        reduction: what becomes of the encoder's gradients afterwards: `mean`, as DDP, FSDP, accelerate and Lightning
            do, or `sum`.

    Class weights of the loss itself get the whole gradient in each process: give them to the optimiser as they are.
    One all-gather of [n d] a step; nothing is sent in the backward pass.

    Raises:
        ValueError: there is nothing to call, or another reduction.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.gathered(lab.losses.create("smooth_ap"))
        >>> rows, labels = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), torch.tensor([0, 0, 1])
        >>> bool(loss(rows, labels) == loss.loss(rows, labels))  # a single process
        True
    """
    return Gathered(loss, reduction)


class _Everyone(torch.autograd.Function):
    """Own rows to everyone's; backward takes the own rows of a gradient that is the same everywhere, times `scale`."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, sizes: Sequence[int], scale: int) -> Tensor:
        ctx.first, ctx.size, ctx.scale = sum(sizes[: dist.get_rank()]), len(local), scale
        return gathering.rows_of_all(local, sizes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return grads[0][ctx.first : ctx.first + ctx.size] * ctx.scale, None, None


def _several() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _sizes(rows: Any, labels: Any) -> tuple[list[int], int]:
    """How many rows each process brings, and a seed that all share, which the first one draws.

    Raises:
        ValueError: in all processes, when one brings no batch, or one that does not fit the others'.
    """
    good = isinstance(rows, Tensor) and rows.is_floating_point() and rows.ndim == 2
    good = good and isinstance(labels, Tensor) and labels.ndim == 1 and len(labels) == len(rows)
    device = rows.device if isinstance(rows, Tensor) else torch.device("cpu")
    shape = (*rows.shape, rows.element_size()) if good else (UNREADABLE,) * 3
    seed = int(torch.randint(2**31, ()))
    facts_of = [list(map(int, facts)) for facts in gathering.of_all(torch.tensor([*shape, seed], device=device))]
    for rank, (size, _, _, _) in enumerate(facts_of):
        if size == UNREADABLE:
            raise ValueError(
                f"Process {rank} brings no batch: gathered needs embeddings, a float tensor [n d], and labels [n], one "
                "a row, from each process."
            )
    widths, types = {facts[1] for facts in facts_of}, {facts[2] for facts in facts_of}
    if len(widths) > 1 or len(types) > 1:
        raise ValueError(
            f"The processes bring embeddings of widths {sorted(widths)} and of {sorted(8 * t for t in types)} bits; "
            "all need the same encoder and the same precision."
        )
    return [facts[0] for facts in facts_of], facts_of[0][3]
