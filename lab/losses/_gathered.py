"""One batch out of the batches of several processes, for loops that are not ours: DDP, accelerate, Lightning, FSDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lab.kernels import gathering, paths, sharing

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
        if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
            references = {} if ref_emb is None else {"ref_emb": ref_emb, "ref_labels": ref_labels}
            return self.loss(embeddings, labels, **references, **kwargs)
        sides: list[tuple[Any, Any]] = [(embeddings, labels)]
        if ref_emb is not None:
            sides.append((ref_emb, ref_labels))
        facts = [_facts(*side, references=ref_emb is not None) for side in sides]
        share = sharing.Share(dist.get_rank(), dist.get_world_size() if self._shares(facts[0].alike) else 1)
        everyone = []
        for (rows, local_labels), about in zip(sides, facts, strict=True):
            if about.slopes and not rows.requires_grad:
                rows = rows.detach().requires_grad_()  # all take part in the backward pass, or it would wait
            scale = dist.get_world_size() if self.reduction == "mean" else 1
            everyone += [_Everyone.apply(rows, about.sizes, scale, share)]
            everyone += [gathering.rows_of_all(local_labels.to(rows.device), about.sizes)]
        self._name_images(facts[0].sizes)
        references = dict(zip(("ref_emb", "ref_labels"), everyone[2:], strict=False))
        # All draw the same random numbers, so that all compute the same loss.
        with torch.random.fork_rng(devices=[embeddings.device] if embeddings.is_cuda else []), sharing.among(share):
            torch.manual_seed(facts[0].seed)
            return self.loss(everyone[0], everyone[1], **references, **kwargs)

    def _shares(self, alike: bool) -> bool:
        """Whether the loss can be shared: it is known to have no weights whose gradient has to be whole everywhere."""
        weightless = isinstance(self.loss, nn.Module) and not any(p.requires_grad for p in self.loss.parameters())
        return alike and weightless

    def _name_images(self, sizes: Sequence[int]) -> None:
        """Everyone's images for a memory that keeps them one by one (`cross_batch_memory` with `unique`)."""
        for module in self.modules():
            images: Any = getattr(module, "images_of_batch", None)
            if images is not None:
                module.images_of_batch = gathering.rows_of_all(images, sizes)


def gathered(loss: Callable[..., Tensor], reduction: Literal["mean", "sum"] = "mean") -> Gathered:
    """A loss over the batches of all processes, with the gradients of one process that has the whole batch.

    A ranking loss compares every image with every other, so under DDP, accelerate, Lightning or FSDP each process alone
    would see only its share. This gathers embeddings and labels, lets each process compute the whole loss, and hands
    each its own rows' gradient. Works for any callable of embeddings and labels, memories and class weights included;
    each process ends with the same memory. The processes share the tiles of our kernels, unless the loss has weights
    of its own or is no module (docs/several-processes.md). Without other processes it is the loss itself.

    Args:
        loss: one of ours, or any callable in pytorch-metric-learning's convention.
        reduction: what becomes of the encoder's gradients afterwards: `mean`, as DDP, FSDP, accelerate and Lightning
            do, or `sum`.

    Class weights of the loss itself get the whole gradient in each process: give them to the optimiser as they are.
    One all-gather of [n d] a step; where tiles are shared, also the rank sums, and in the backward pass one
    reduce-scatter of [n d]. So all processes have to call backward, or none.

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
    """Own rows to everyone's; backward takes the own rows of the gradient, times `scale`.

    It is the same everywhere, or the mean over processes where they shared tiles.
    """

    @staticmethod
    def forward(ctx: Any, local: Tensor, sizes: Sequence[int], scale: int, share: sharing.Share) -> Tensor:
        ctx.sizes, ctx.scale, ctx.share = sizes, scale, share
        return gathering.rows_of_all(local, sizes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        if ctx.share.split:
            gradient = gathering.mean_of_local_rows(grads[0], ctx.sizes)
        else:
            gradient = grads[0].split(ctx.sizes)[dist.get_rank()]
        return gradient * ctx.scale, None, None, None


@dataclass(frozen=True)
class _Facts:
    """What all processes bring to one side of a loss.

    sizes: how many rows, by rank. seed: drawn by the first. alike: all run the same kernels. slopes: any wants a
    gradient.
    """

    sizes: list[int]
    seed: int
    alike: bool
    slopes: bool


def _facts(rows: Any, labels: Any, references: bool) -> _Facts:
    """What each process brings, told to all in one collective.

    Raises:
        ValueError: in all processes, when one brings no batch, or one that does not fit the others', or when only some
            bring references.
    """
    good = isinstance(rows, Tensor) and rows.is_floating_point() and rows.ndim == 2
    good = good and isinstance(labels, Tensor) and labels.ndim == 1 and len(labels) == len(rows)
    device = rows.device if isinstance(rows, Tensor) else torch.device("cpu")
    shape = (*rows.shape, rows.element_size()) if good else (UNREADABLE,) * 3
    slopes = good and rows.requires_grad and torch.is_grad_enabled()
    mine = [*shape, int(torch.randint(2**31, ())), paths.number(device), slopes, references]
    facts_of = [list(map(int, facts)) for facts in gathering.of_all(torch.tensor(mine, device=device))]
    sizes, widths, types, seeds, numbers, slopes_of, with_references = zip(*facts_of, strict=True)
    if len(set(with_references)) > 1:
        raise ValueError(
            f"Process {with_references.index(0)} brings no references (ref_emb) and process {with_references.index(1)} "
            "does: give ref_emb and ref_labels in every process, be they of no rows [0 d], or in none."
        )
    for rank, size in enumerate(sizes):
        if size == UNREADABLE:
            raise ValueError(
                f"Process {rank} brings no batch: gathered needs embeddings, a float tensor [n d], and labels [n], one "
                "a row, from each process."
            )
    if len(set(widths)) > 1 or len(set(types)) > 1:
        bits = sorted(8 * size for size in set(types))
        raise ValueError(
            f"The processes bring embeddings of widths {sorted(set(widths))} and of {bits} bits; "
            "all need the same encoder and the same precision."
        )
    return _Facts(list(sizes), seeds[0], len(set(numbers)) == 1, any(slopes_of))
