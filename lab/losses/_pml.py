"""Base classes for losses that pytorch-metric-learning computes; an entry declares its knobs and one constructor.

The library's losses scale rows to unit length themselves (see the `distance` of each) and average as its reducers do:
most of them over the pairs or triplets that still violate their margin. The library is imported when a loss is built,
not when its knobs are read, because it imports SciPy, which takes a second.
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
"""The library's name of a knob, where it differs."""


class PmlLoss(Loss):
    """Base class of the pair and triplet losses of pytorch-metric-learning; they take mined pairs and references.

    `per_query` returns n times each query's share of the reduced loss, in proportion to what its pairs contribute. If
    every query has a positive, the mean of `per_query` is the loss; a query without a positive gets NaN.
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
        """Create the library's loss from the knobs; library: `pytorch_metric_learning.losses`."""
        arguments = {OTHER_NAMES.get(name, name): value for name, value in self.knobs}
        return getattr(library, self.theirs)(**arguments)

    def _admit(self, *args: Any) -> Batch:
        batch = super()._admit(*args)
        queries = near_one(batch.queries)
        items = queries if batch.items is batch.queries else near_one(batch.items)
        return replace(batch, queries=queries, items=items)

    def pairs(self, batch: Batch) -> tuple[Tensor, ...] | None:
        """Return the indices tuple to compute on; None means every pair or triplet."""
        if batch.mined is not None or batch.items is batch.queries or not batch.self_ranked:
            return batch.mined
        return batch.every_pair()

    def total(self, batch: Batch) -> Tensor:
        share = sharing.current()
        if share.world > 1 and self.pairs_add_up and batch.mined is None:
            return self._shared(batch, share)
        return self.inner(batch.queries, batch.query_labels, self.pairs(batch), *references(batch))

    def values(self, batch: Batch) -> Tensor:
        shares = torch.zeros_like(batch.queries[:, 0])
        for name, part in self._parts(batch).items():
            shares = shares + self._shares(name, part, batch)
        if not self.needs_positives:
            return shares
        return shares.masked_fill(~batch.positives().any(1), torch.nan)

    def _parts(self, batch: Batch) -> dict[str, dict]:
        """Compute the library's values per element, which its reducer averages, for each named part of the loss."""
        return self.inner.compute_loss(
            batch.queries, batch.query_labels, self.pairs(batch), batch.items, batch.item_labels
        )

    def _shared(self, batch: Batch, share: sharing.Share) -> Tensor:
        """Compute `total` in several processes, each of which computes the pairs of some queries."""
        queries = share.entering(batch.queries)
        items = queries if batch.items is batch.queries else share.entering(batch.items)
        local = replace(batch, queries=queries, items=items).part(share.local(len(batch)))

        # Sum the values and their numbers over the processes before dividing: processes have unequal numbers of pairs.
        zero = local.queries.sum() * 0
        tallies = []
        for name, part in self._parts(local).items():
            tallies.append(torch.stack(tally(self._reducer(name), part, zero)))
        total, count = share.summed(torch.stack(tallies)).unbind(1)
        return (total / count.detach().clamp_min(1)).sum()

    def _reducer(self, name: str) -> BaseReducer:
        """Return the library's reducer of one part of the loss."""
        from pytorch_metric_learning.reducers import MultipleReducers

        reducer = self.inner.reducer
        return reducer.reducers[name] if isinstance(reducer, MultipleReducers) else reducer

    def _shares(self, name: str, part: dict, batch: Batch) -> Tensor:
        """Divide one reduced part of the loss among the queries, in proportion to their elements; times n, [n]."""
        reduced = self._reducer(name)({name: part}, batch.queries, batch.query_labels)
        zeros = torch.zeros_like(batch.queries[:, 0])
        if part["reduction_type"] == "already_reduced":
            return zeros + reduced
        if not isinstance(part["losses"], Tensor):  # the library's zero where it found no pair of this kind
            return zeros
        elements = part["losses"].flatten()
        indices = part["indices"]
        anchors = indices[0] if isinstance(indices, tuple | list) else indices
        whole = elements.sum()
        return zeros.index_add(0, anchors, elements) * (len(batch) * reduced / torch.where(whole == 0, 1, whole))


def references(batch: Batch) -> tuple[Tensor | None, Tensor | None]:
    """Return the items and their labels as the library expects them: None if the batch is ranked among itself."""
    if batch.items is batch.queries:
        return None, None
    return batch.items, batch.item_labels


def tally(reducer: BaseReducer, part: dict, zero: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum over the pairs that a reducer of the library averages, and the number it divides by, [] each.

    zero: returned if there are no pairs; it is connected to the embeddings, so that its gradient is zero.
    """
    from pytorch_metric_learning.reducers import DivisorReducer, ThresholdReducer

    losses = part["losses"]
    if not isinstance(losses, Tensor):  # the library's zero where it found no pair of this kind
        return zero, zero
    losses = losses.flatten()
    if isinstance(reducer, ThresholdReducer):
        losses = losses[losses > reducer.low]
    count = part["divisor"] if isinstance(reducer, DivisorReducer) else len(losses)
    return zero + losses.sum(), zero.detach() + count


class PmlTripletLoss(PmlLoss):
    """Base class of triplet losses; `triplets_per_anchor` triplets are drawn for each query, or all if it is None."""

    @property
    def pairs_add_up(self) -> bool:
        """Whether the loss is a sum over the triplets of single queries, so that processes can share the queries."""
        knobs = self.knobs
        drawn = knobs.triplets_per_anchor is not None or getattr(knobs, "miner", "none") != "none"
        compared = getattr(knobs, "swap", False) or getattr(knobs, "learn_beta", False)
        return not (drawn or compared)

    def pairs(self, batch: Batch) -> tuple[Tensor, ...]:
        if batch.mined is not None:
            return batch.mined
        return triplets(batch, self.knobs.triplets_per_anchor)


def triplets(batch: Batch, per_anchor: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return anchors, positives and negatives: every triplet, or `per_anchor` drawn with replacement for each query.

    The library builds triplets from an n x n x n mask; this takes p x r numbers for p positive pairs, or n x r.
    """
    positives = batch.positives()
    negatives = batch.negatives
    if per_anchor is None:
        anchor, positive = torch.nonzero(positives, as_tuple=True)
        pair, negative = torch.nonzero(negatives[anchor], as_tuple=True)
        return anchor[pair], positive[pair], negative

    anchors = torch.nonzero(positives.any(1) & negatives.any(1)).flatten()
    if not len(anchors):
        return anchors, anchors, anchors
    positive = torch.multinomial(positives[anchors].float(), per_anchor, replacement=True).flatten()
    negative = torch.multinomial(negatives[anchors].float(), per_anchor, replacement=True).flatten()
    return anchors.repeat_interleave(per_anchor), positive, negative


class PmlClassLoss(PmlLoss, ClassLoss):
    """Base class of pytorch-metric-learning's losses with a weight vector (a proxy) for each class."""

    pairs_add_up = False
