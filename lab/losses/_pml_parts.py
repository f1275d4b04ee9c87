"""Our losses inside the wrappers of pytorch-metric-learning that take no other classes than that library's own."""

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
    """A loss of ours as one of pytorch-metric-learning's, for its wrappers.

    What takes it: `CrossBatchMemory`, `SelfSupervisedLoss` and `DistributedLossWrapper`, efficient or not. What takes
    our losses as they are: the trainers and `MultipleLosses`. `DistributedLossWrapper` lets no gradient flow to the
    other processes' rows unless it is wrapped as that library says; `lab.losses.gathered` always does.

    The wrappers that remember or gather hand every query its pairs without itself. A loss that ranks reads from them
    which reference each query is, and ranks the others. A miner inside a wrapper is refused by a loss that ranks; ours
    that take mined pairs, such as `contrastive`, get them.

    Raises:
        ValueError: this is no loss of ours.

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
        raise ValueError(f"for_pml takes a loss of lab.losses or lab.wrappers, got {type(loss).__name__}.")
    return _adapter()(loss)


@cache
def _adapter() -> type:
    from pytorch_metric_learning.losses import BaseMetricLossFunction

    class Adapter(BaseMetricLossFunction):
        """Passes on what the library hands over, in our terms."""

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
                ref_emb, ref_labels = embeddings, labels
            itself = _itself(indices_tuple, len(embeddings), len(ref_emb), type(self.loss).__name__)
            return _ranked(self.loss, embeddings, labels, ref_emb, ref_labels, itself)

        def _get_name(self) -> str:
            return f"for_pml {type(self.loss).__name__}"

    # Two of the wrappers go by the name of the class, and this is one that both know; pickle finds it by `__getattr__`.
    Adapter.__name__ = Adapter.__qualname__ = "SupConLoss"
    return Adapter


def __getattr__(name: str) -> type:
    if name != "SupConLoss":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _adapter()


def _itself(pairs: Sequence[Tensor], queries: int, items: int, who: str) -> Tensor | None:
    """int64 [queries], the reference that is the query itself: the one that no pair names. None: pairs name all.

    Raises:
        ValueError: pairs are missing, which means that a miner chose them.
    """
    named = torch.zeros(queries, items, dtype=torch.bool, device=pairs[0].device)
    if len(pairs) == 4:
        named[pairs[0], pairs[1]] = named[pairs[2], pairs[3]] = True
    missing = (~named).sum(1)
    if not missing.any():
        return None
    itself = (~named).int().argmax(1)
    if not bool((missing == 1).all()) or len(itself.unique()) < queries:
        raise ValueError(f"{who} reads every pair of the batch and takes no mined pairs; use it without a miner.")
    return itself


def _ranked(
    loss: Loss, embeddings: Tensor, labels: Tensor, items: Tensor, item_labels: Tensor, itself: Tensor | None
) -> Tensor:
    """The loss of queries among items, of which item itself[i] is query i and does not count."""
    if itself is None:
        return loss(embeddings, labels, ref_emb=items, ref_labels=item_labels)
    others = torch.ones(len(items), dtype=torch.bool, device=items.device)
    others[itself] = False
    order = torch.cat([itself, torch.nonzero(others).flatten()])
    with full_precision(embeddings):
        batch = replace(loss._admit(embeddings, labels, None, items[order], item_labels[order]), self_ranked=True)
        return (loss.total if batch.has_positives else loss.without_positives)(batch)
