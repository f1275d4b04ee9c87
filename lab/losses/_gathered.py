"""Gather the batches of several processes into one, for training loops by DDP, accelerate, Lightning or FSDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lab.kernels import gathering, paths, sharing

UNREADABLE = -1
"""Sent to the other processes in place of each dimension if the input of this process is not a valid batch."""


class Gathered(nn.Module):
    """Compute a loss over the embeddings and labels of all processes; see `gathered`."""

    def __init__(self, loss: Callable[..., Tensor], reduction: Literal["mean", "sum"] = "mean"):
        super().__init__()
        if not callable(loss):
            raise ValueError(
                f"gathered needs a loss to wrap, got {type(loss).__name__}; create it first."
            )
        if reduction not in ("mean", "sum"):
            raise ValueError(f"gathered: reduction must be mean or sum, got {reduction!r}.")
        self.loss = loss
        self.reduction = reduction

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: Any = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """Compute the loss of the batch of all processes, [], the same in every process.

        Args:
            embeddings: float [n d]; n may differ between processes.
            labels: whole numbers [n], numbered alike in all processes.
            indices_tuple: must be None: mined pairs would count within one process. Mine inside the wrapped callable.
            ref_emb, ref_labels: [r d] and [r], gathered, too.
            kwargs: passed on to the loss.

        Raises:
            ValueError: the input of a process is not a valid batch. It is raised in all processes, so that none waits.
        """
        if indices_tuple is not None:
            raise ValueError(
                "gathered takes no mined pairs, which count within one process; mine inside the loss: "
                "gathered(lambda rows, labels: loss(rows, labels, miner(rows, labels)))."
            )
        if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
            if ref_emb is not None:
                kwargs = {**kwargs, "ref_emb": ref_emb, "ref_labels": ref_labels}
            return self.loss(embeddings, labels, **kwargs)

        world = dist.get_world_size()
        facts = _exchange_facts(embeddings, labels, references=ref_emb is not None)
        # The processes share the tiles of the kernels only where each of them can do without the whole gradient.
        share = sharing.Share(
            dist.get_rank(), world if facts.alike and self._has_no_weights() else 1
        )
        scale = world if self.reduction == "mean" else 1

        all_rows, all_labels = _gather(embeddings, labels, facts, scale, share)
        if ref_emb is not None:
            assert ref_labels is not None, "references without labels were refused"
            ref_facts = _exchange_facts(ref_emb, ref_labels, references=True)
            all_references, all_ref_labels = _gather(ref_emb, ref_labels, ref_facts, scale, share)
            kwargs = {**kwargs, "ref_emb": all_references, "ref_labels": all_ref_labels}
        self._gather_image_numbers(facts.sizes)

        # All processes draw the same random numbers, so that all compute the same loss.
        devices = [embeddings.device] if embeddings.is_cuda else []
        with torch.random.fork_rng(devices=devices), sharing.among(share):
            torch.manual_seed(facts.seed)
            return self.loss(all_rows, all_labels, **kwargs)

    def _has_no_weights(self) -> bool:
        """Whether the loss is a module without learnt weights, whose gradient every process would need as a whole."""
        return isinstance(self.loss, nn.Module) and not any(
            p.requires_grad for p in self.loss.parameters()
        )

    def _gather_image_numbers(self, sizes: Sequence[int]) -> None:
        """Gather the image numbers for a memory with one slot per image (`cross_batch_memory` with `unique`)."""
        for module in self.modules():
            images: Any = getattr(module, "images_of_batch", None)
            if images is not None:
                module.images_of_batch = gathering.rows_of_all(images, sizes)


def gathered(loss: Callable[..., Tensor], reduction: Literal["mean", "sum"] = "mean") -> Gathered:
    """Wrap a loss so that it sees the batches of all processes, with the gradients of a single process.

    A ranking loss compares every image with every other, so under DDP, accelerate, Lightning or FSDP each process alone
    would see only its share. The wrapper gathers embeddings and labels, computes the whole loss in each process, and
    gives each process the gradient of its own rows. It works for any callable of embeddings and labels, also for
    memories and class weights; every process ends with the same memory. The processes share the tiles of the kernels,
    unless the loss has learnt weights or is not a module (docs/several-processes.md). In a single process the wrapper
    returns the loss unchanged.

    Args:
        loss: a loss of this library, or any callable in pytorch-metric-learning's convention.
        reduction: how the training loop combines the encoder's gradients afterwards: `mean`, as DDP, FSDP, accelerate
            and Lightning do, or `sum`.

    Class weights of the loss get the whole gradient in each process: pass them to the optimiser without DDP. Each step
    costs one all-gather of [n d]; with shared tiles also the rank sums, and in backward one reduce-scatter of [n d].
    Therefore either all processes call backward, or none.

    Raises:
        ValueError: the loss is not callable, or the reduction is not known.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.gathered(lab.losses.create("smooth_ap"))
        >>> rows, labels = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), torch.tensor([0, 0, 1])
        >>> bool(loss(rows, labels) == loss.loss(rows, labels))  # a single process
        True
    """
    return Gathered(loss, reduction)


class _RowsOfAll(torch.autograd.Function):
    """Gather the rows of all processes; backward returns the gradient of the local rows, times `scale`.

    The incoming gradient is the same in every process, unless they shared tiles: then their mean is taken.
    """

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, sizes: Sequence[int], scale: int, share: sharing.Share
    ) -> Tensor:
        ctx.sizes = sizes
        ctx.scale = scale
        ctx.share = share
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
    """Facts about the embeddings, or the references, of all processes.

    sizes: number of rows of each process, by rank.
    seed: drawn by the first process.
    alike: all processes run the same kernels.
    needs_gradient: at least one process needs a gradient.
    """

    sizes: list[int]
    seed: int
    alike: bool
    needs_gradient: bool


def _exchange_facts(rows: Any, labels: Any, references: bool) -> _Facts:
    """Send the facts about the local rows to all processes in one collective, and compare those of all.

    Raises:
        ValueError: in all processes, if the input of one is not a valid batch, if widths or precisions differ, or if
            only some processes pass references.
    """
    valid = isinstance(rows, Tensor) and rows.is_floating_point() and rows.ndim == 2
    valid = valid and isinstance(labels, Tensor) and labels.ndim == 1 and len(labels) == len(rows)
    device = rows.device if isinstance(rows, Tensor) else torch.device("cpu")
    shape = (*rows.shape, rows.element_size()) if valid else (UNREADABLE,) * 3
    needs_gradient = valid and rows.requires_grad and torch.is_grad_enabled()
    seed = int(torch.randint(2**31, ()))
    local_facts = torch.tensor(
        [*shape, seed, paths.number(device), needs_gradient, references], device=device
    )

    by_rank = [list(map(int, facts)) for facts in gathering.of_all(local_facts)]
    sizes, widths, item_sizes, seeds, kernels, gradients, with_references = zip(
        *by_rank, strict=True
    )
    if len(set(with_references)) > 1:
        raise ValueError(
            f"Process {with_references.index(0)} passes no references (ref_emb) but process {with_references.index(1)} "
            "does; pass ref_emb and ref_labels in every process (with no rows, [0 d], where there are none) or in none."
        )
    for rank, size in enumerate(sizes):
        if size == UNREADABLE:
            raise ValueError(
                f"Process {rank} passes no valid batch; gathered needs embeddings, a float tensor [n d], and labels "
                "[n], one a row, from each process."
            )
    if len(set(widths)) > 1 or len(set(item_sizes)) > 1:
        bits = sorted(8 * size for size in set(item_sizes))
        raise ValueError(
            f"The processes pass embeddings of widths {sorted(set(widths))} and of {bits} bits; "
            "use the same encoder and the same precision in all."
        )
    return _Facts(
        list(sizes), seeds[0], alike=len(set(kernels)) == 1, needs_gradient=any(gradients)
    )


def _gather(
    rows: Tensor, labels: Tensor, facts: _Facts, scale: int, share: sharing.Share
) -> tuple[Tensor, Tensor]:
    """Gather the rows [n d] and labels [n] of all processes."""
    if facts.needs_gradient and not rows.requires_grad:
        # every process takes part in backward, or the others would wait
        rows = rows.detach().requires_grad_()
    all_rows = _RowsOfAll.apply(rows, facts.sizes, scale, share)
    return all_rows, gathering.rows_of_all(labels.to(rows.device), facts.sizes)
