"""What makes a loss of pytorch-metric-learning one of ours; each entry is then its knobs and one constructor.

The library's losses scale rows to unit length themselves, see `distance` of each, and average as its reducers do: most
over the pairs or triplets that still violate their margin. It is imported when a loss is built, not when its knobs are
read: it brings SciPy along, which takes a second.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from lab.core.catalog import name_of
from lab.core.explain import need
from lab.kernels import near_one, sharing
from lab.losses._base import ClassLoss, Loss
from lab.losses._batch import Batch

if TYPE_CHECKING:
    from pytorch_metric_learning.reducers import BaseReducer


OTHER_NAMES = {"dim": "embedding_size"}
"""Of knobs, in the library."""


class PmlLoss(Loss):
    """A pair or triplet loss of pytorch-metric-learning; takes mined pairs and references.

    `per_query` gives n times each query's share of the reduced loss, in proportion to what its pairs contribute. So the
    mean over the batch is the loss where every query has a positive; the share of one without is told as NaN.
    """

    cosine = False
    takes_mined_pairs = True
    mean_of_queries = False
    theirs: ClassVar[str]
    """Name of the library's class, which takes all knobs; another one is made by `build`."""
    pairs_add_up = True
    """Whether several processes may share the queries, each with all of its pairs; off where pairs are drawn or mined,
    or an example is compared with weights of its class."""

    def __post_init__(self) -> None:
        need(f"The loss {name_of(type(self))}", "train", "pytorch_metric_learning")
        library = importlib.import_module("pytorch_metric_learning.losses")
        self.inner = self.build(library)

    def build(self, library: Any) -> Any:
        """The library's loss for the knobs; library: `pytorch_metric_learning.losses`."""
        return getattr(library, self.theirs)(**{OTHER_NAMES.get(name, name): value for name, value in self.knobs})

    def _admit(self, *args: Any) -> Batch:
        batch = super()._admit(*args)
        queries = near_one(batch.queries)
        return replace(batch, queries=queries, items=queries if batch.items is batch.queries else near_one(batch.items))

    def pairs(self, batch: Batch) -> tuple[Tensor, ...] | None:
        """The indices tuple to compute on; None means every pair or triplet."""
        if batch.mined is not None or batch.items is batch.queries or not batch.self_ranked:
            return batch.mined
        return batch.every_pair()

    def total(self, batch: Batch) -> Tensor:
        share = sharing.current()
        if share.world > 1 and self.pairs_add_up and batch.mined is None:
            return self._shared(batch, share)
        references = (None, None) if batch.items is batch.queries else (batch.items, batch.item_labels)
        return self.inner(batch.queries, batch.query_labels, self.pairs(batch), *references)

    def values(self, batch: Batch) -> Tensor:
        shares = torch.zeros_like(batch.queries[:, 0])
        for name, part in self._parts(batch).items():
            shares = shares + self._shares(name, part, batch)
        return shares.masked_fill(~batch.positives().any(1), torch.nan) if self.needs_positives else shares

    def _parts(self, batch: Batch) -> dict[str, dict]:
        sides = batch.queries, batch.query_labels, self.pairs(batch), batch.items, batch.item_labels
        return self.inner.compute_loss(*sides)

    def _shared(self, batch: Batch, share: sharing.Share) -> Tensor:
        """`total`, of which each process computes the pairs of some queries."""
        queries = share.entering(batch.queries)
        items = queries if batch.items is batch.queries else share.entering(batch.items)
        local = replace(batch, queries=queries, items=items).part(share.local(len(batch)))
        parts, nothing = self._parts(local), local.queries.sum() * 0
        tallies = [torch.stack(tally(self._reducer(name), part, nothing)) for name, part in parts.items()]
        total, count = share.summed(torch.stack(tallies)).unbind(1)
        return (total / count.detach().clamp_min(1)).sum()

    def _reducer(self, name: str) -> BaseReducer:
        from pytorch_metric_learning.reducers import MultipleReducers

        reducer = self.inner.reducer
        return reducer.reducers[name] if isinstance(reducer, MultipleReducers) else reducer

    def _shares(self, name: str, part: dict, batch: Batch) -> Tensor:
        reduced = self._reducer(name)({name: part}, batch.queries, batch.query_labels)
        zeros = torch.zeros_like(batch.queries[:, 0])
        if part["reduction_type"] == "already_reduced":
            return zeros + reduced
        if not isinstance(part["losses"], Tensor):  # the library's zero where it found no pair of this kind
            return zeros
        elements, indices = part["losses"].flatten(), part["indices"]
        anchors = indices[0] if isinstance(indices, tuple | list) else indices
        whole = elements.sum()
        return zeros.index_add(0, anchors, elements) * (len(batch) * reduced / torch.where(whole == 0, 1, whole))


def tally(reducer: BaseReducer, part: dict, nothing: Tensor) -> tuple[Tensor, Tensor]:
    """What a reducer of the library sums up of some pairs, and what it divides by, [] each.

    nothing: a zero that carries a gradient, where there are no pairs.
    """
    from pytorch_metric_learning.reducers import DivisorReducer, ThresholdReducer

    losses = part["losses"]
    if not isinstance(losses, Tensor):  # the library's zero where it found no pair of this kind
        return nothing, nothing
    losses = losses.flatten()
    if isinstance(reducer, ThresholdReducer):
        losses = losses[losses > reducer.low]
    count = part["divisor"] if isinstance(reducer, DivisorReducer) else len(losses)
    return nothing + losses.sum(), nothing.detach() + count


class PmlTripletLoss(PmlLoss):
    """A triplet loss; its knob `triplets_per_anchor` says how many are drawn for each query, None being all."""

    @property
    def pairs_add_up(self) -> bool:
        knobs = self.knobs
        drawn = knobs.triplets_per_anchor is not None or getattr(knobs, "miner", "none") != "none"
        compared = getattr(knobs, "swap", False) or getattr(knobs, "learn_beta", False)
        return not (drawn or compared)

    def pairs(self, batch: Batch) -> tuple[Tensor, ...]:
        return batch.mined if batch.mined is not None else triplets(batch, self.knobs.triplets_per_anchor)


def triplets(batch: Batch, per_anchor: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Anchors, positives and negatives: every triplet, or `per_anchor` drawn with replacement for each query.

    The library builds them from an n x n x n mask; this takes p x r, for p positive pairs, or n x r.
    """
    positives, negatives = batch.positives(), batch.negatives
    if per_anchor is None:
        anchor, positive = torch.nonzero(positives, as_tuple=True)
        pair, negative = torch.nonzero(negatives[anchor], as_tuple=True)
        return anchor[pair], positive[pair], negative
    anchors = torch.nonzero(positives.any(1) & negatives.any(1)).flatten()
    drawn = [
        torch.multinomial(some[anchors].float(), per_anchor, replacement=True).flatten() if len(anchors) else anchors
        for some in (positives, negatives)
    ]
    return anchors.repeat_interleave(per_anchor), drawn[0], drawn[1]


class PmlClassLoss(PmlLoss, ClassLoss):
    """A loss of pytorch-metric-learning that owns a weight vector, a proxy, for each class."""

    pairs_add_up = False
