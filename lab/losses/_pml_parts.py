"""Adapt our losses to those wrappers of pytorch-metric-learning that accept only classes of that library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lab.losses._base import Loss, full_precision

if TYPE_CHECKING:
    from pytorch_metric_learning.losses import BaseMetricLossFunction


def for_pml(loss: Loss) -> BaseMetricLossFunction:
    """Adapt a loss of this library to the wrappers of pytorch-metric-learning.

    Use it for `CrossBatchMemory`, `SelfSupervisedLoss` and `DistributedLossWrapper`, efficient or not. The trainers and
    `MultipleLosses` accept our losses without it. `DistributedLossWrapper` passes no gradient to the rows of other
    processes unless it is wrapped as that library documents; `lab.losses.gathered` always does.

    The wrappers with a memory and those that gather pass all pairs of a query except the pair with itself. A ranking
    loss finds from these pairs which reference is the query itself, and ranks the others. A ranking loss refuses a
    miner inside a wrapper; losses that take mined pairs, such as `contrastive`, use its pairs.

    Raises:
        ValueError: `loss` is not a loss of this library.

    Example:
        >>> import lab, torch
        >>> from pytorch_metric_learning.losses import CrossBatchMemory
        >>> loss = lab.losses.for_pml(lab.losses.create("smooth_ap"))
        >>> memory = CrossBatchMemory(loss, embedding_size=2, memory_size=8)
        >>> rows, labels = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), torch.tensor([0, 0, 1])
        >>> round(memory(rows, labels).item(), 3) == round(loss(rows, labels).item(), 3)  # nothing to remember yet
        True
    """
    if not isinstance(loss, Loss):
        raise ValueError(
            f"for_pml takes a loss of lab.losses or lab.wrappers, got {type(loss).__name__}."
        )
    return _adapter()(loss)


@cache
def _adapter() -> type:
    from pytorch_metric_learning.losses import BaseMetricLossFunction

    class Adapter(BaseMetricLossFunction):
        """Translate the library's arguments into those of our loss."""

        def __init__(self, loss: Loss):
            super().__init__()
            self.loss = loss

        def forward(
            self,
            embeddings: Tensor,
            labels: Tensor,
            indices_tuple: Any = None,
            ref_emb: Any = None,
            ref_labels: Any = None,
        ) -> Tensor:
            if indices_tuple is None or self.loss.takes_mined_pairs:
                return self.loss(embeddings, labels, indices_tuple, ref_emb, ref_labels)
            if ref_emb is None or ref_labels is None:
                ref_emb = embeddings
                ref_labels = labels
            itself = _itself(indices_tuple, len(embeddings), len(ref_emb), type(self.loss).__name__)
            return _ranked(self.loss, embeddings, labels, ref_emb, ref_labels, itself)

        def _get_name(self) -> str:
            return f"for_pml {type(self.loss).__name__}"

    # Two of the wrappers decide by the name of the class; both accept this one. Pickle finds it by `__getattr__`.
    Adapter.__name__ = "SupConLoss"
    Adapter.__qualname__ = "SupConLoss"
    return Adapter


def __getattr__(name: str) -> type:
    if name != "SupConLoss":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _adapter()


def _itself(pairs: Sequence[Tensor], queries: int, items: int, who: str) -> Tensor | None:
    """Find the reference that is the query itself, int64 [queries]: the only one that no pair holds.

    Returns None if the pairs hold every reference, so that no query is among them.

    Raises:
        ValueError: more pairs are missing, which means that a miner chose them.
    """
    in_pairs = torch.zeros(queries, items, dtype=torch.bool, device=pairs[0].device)
    if len(pairs) == 4:
        in_pairs[pairs[0], pairs[1]] = True
        in_pairs[pairs[2], pairs[3]] = True
    missing = (~in_pairs).sum(1)
    if not missing.any():
        return None

    itself = (~in_pairs).int().argmax(1)
    if not bool((missing == 1).all()) or len(itself.unique()) < queries:
        raise ValueError(
            f"{who} reads every pair of the batch and takes no mined pairs; use it without a miner."
        )
    return itself


def _ranked(
    loss: Loss,
    embeddings: Tensor,
    labels: Tensor,
    items: Tensor,
    item_labels: Tensor,
    itself: Tensor | None,
) -> Tensor:
    """Compute the loss of queries among items; item itself[i] is query i and is not ranked."""
    if itself is None:
        return loss(embeddings, labels, ref_emb=items, ref_labels=item_labels)

    # Put the queries first among the items, in their own order: this is what `self_ranked` means.
    others = torch.ones(len(items), dtype=torch.bool, device=items.device)
    others[itself] = False
    order = torch.cat([itself, torch.nonzero(others).flatten()])
    with full_precision(embeddings):
        batch = replace(
            loss._admit(embeddings, labels, None, items[order], item_labels[order]),
            self_ranked=True,
        )
        if not batch.has_positives:
            return loss.without_positives(batch)
        return loss.total(batch)
