"""The frame of every loss: checked input in, one value a query or their mean out.

A loss is its knobs, the weights that it learns if any, and pure functions of tensors. It takes embeddings and labels,
never the model, in the calling convention of pytorch-metric-learning, so that it drops into that library's trainers.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from lab.core.knobs import REQUIRED, Knobs, knob
from lab.kernels import unit
from lab.losses._batch import Batch, admit

Variant = Literal["paper", "released"]


class RankingKnobs(Knobs):
    """The two knobs of every ranking loss."""

    variant: Variant = knob("paper", "Follow the paper's formula, or what the authors' released code computes.")
    include_self: bool | None = knob(
        None, "Whether a query is among the items that it ranks; None does as the variant does."
    )


class Loss(nn.Module):
    """Base of every loss and wrapper.

    A subclass declares `Knobs` and defines `values`; where the loss is no mean over queries it defines `total` as well
    and says so in `mean_of_queries`.

    cosine: rows are scaled to unit length before anything else; off for losses of free embeddings.
    lengths_matter: wants embeddings of any length, so an encoder in front of it should not normalise.
    needs_positives: without a pair of one class the loss is zero; off for losses that compare with class weights.
    takes_references: `ref_emb` has a meaning.
    takes_mined_pairs: a miner's indices tuple has a meaning.
    mean_of_queries: `forward` is the mean of `per_query` over the queries that have positives.
    with_self: variants in which a query is among the items that it ranks unless `include_self` says otherwise.
    """

    Knobs: ClassVar[type[Knobs]]
    cosine: bool = True
    lengths_matter: bool = False
    needs_positives: bool = True
    takes_references: bool = True
    takes_mined_pairs: bool = False
    mean_of_queries: Any = True  # a bool, or a property where it depends on the knobs
    with_self: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **knobs: Any):
        super().__init__()
        self.knobs: Any = self.Knobs(**knobs)

    @property
    def ranks_itself(self) -> bool:
        """Whether a query is among the items that it ranks."""
        said = getattr(self.knobs, "include_self", None)
        return getattr(self.knobs, "variant", None) in self.with_self if said is None else said

    def values(self, batch: Batch, **given: Any) -> Tensor:
        """One value a query, [n]; NaN for a query without positives. The maths; `batch` is checked already."""
        raise NotImplementedError

    def total(self, batch: Batch, **given: Any) -> Tensor:
        """The loss, []; the batch has at least one query and, where the loss needs one, a positive."""
        return self.values(batch, **given).nanmean()

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: tuple[Tensor, ...] | Tensor | None = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **given: Any,
    ) -> Tensor:
        """The loss, [].

        Args:
            embeddings: float [n d]; anything shorter than float64 is computed in float32, under autocast too.
            labels: whole numbers [n], any values in any order.
            indices_tuple: what pytorch-metric-learning's trainers pass third. A tensor here is `ref_emb`, and the next
                one `ref_labels`.
            ref_emb: [r d], rank these instead of the batch; no query is removed from them.
            ref_labels: [r].
            given: what only this loss takes, for instance the mixing weights of SiMix.

        A batch without any positive pair gives a zero that carries a gradient of zeros, and a warning.

        Raises:
            ValueError: bad input, in one sentence; a value that is not finite is named by its row.
        """
        if isinstance(indices_tuple, Tensor):
            indices_tuple, ref_emb, ref_labels = None, indices_tuple, ref_emb
        with full_precision(embeddings):
            batch = self._admit(embeddings, labels, indices_tuple, ref_emb, ref_labels)
            if len(batch) and (batch.has_positives or not self.needs_positives):
                return self.total(batch, **given)
            return self._nothing(batch)

    def per_query(
        self,
        embeddings: Tensor,
        labels: Tensor,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **given: Any,
    ) -> Tensor:
        """One value a query, [n]; NaN for a query that has no positive. Arguments and errors are those of `forward`."""
        with full_precision(embeddings):
            batch = self._admit(embeddings, labels, None, ref_emb, ref_labels)
            if len(batch) and (batch.has_positives or not self.needs_positives):
                return self.values(batch, **given)
            return torch.full_like(batch.queries[:, 0], torch.nan)

    def _admit(self, embeddings, labels, indices_tuple, ref_emb, ref_labels) -> Batch:
        owner = type(self).__name__
        if indices_tuple is not None and not self.takes_mined_pairs:
            raise ValueError(
                f"{owner} reads every pair of the batch and takes no mined pairs; train without a miner, "
                f"got an indices tuple of {len(indices_tuple)}."
            )
        if ref_emb is not None and ref_emb is not embeddings and not self.takes_references:
            raise ValueError(f"{owner} brings what it compares with and takes no ref_emb.")
        batch = admit(owner, embeddings, labels, ref_emb, ref_labels)
        batch = replace(batch, mined=indices_tuple)
        return normalised(batch) if self.cosine else batch

    def _nothing(self, batch: Batch) -> Tensor:
        """A zero that carries a gradient of zeros, and a warning: there is no pair to learn from."""
        others = "of the batch" if batch.own else "and reference"
        what = f"no two examples {others} share a label among {len(batch)} queries" if len(batch) else "batch is empty"
        warnings.warn(
            f"{type(self).__name__}: {what}, so the loss is zero and teaches nothing; sample two images a class.",
            stacklevel=3,
        )
        return (batch.queries.sum() + batch.items.sum()) * 0

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.knobs)


class ClassKnobs(Knobs):
    """The two knobs of every loss that owns a weight vector a class."""

    num_classes: int = knob(REQUIRED, "Number of classes; labels run from 0 to one less.", ge=1)
    dim: int = knob(REQUIRED, "Width of the embeddings.", ge=1)


class ClassLoss(Loss):
    """Base of the losses that compare each example with weights of its class, so that it needs no pairs."""

    needs_positives = False
    takes_references = False

    def _admit(self, embeddings, labels, indices_tuple, ref_emb, ref_labels) -> Batch:
        batch = super()._admit(embeddings, labels, indices_tuple, ref_emb, ref_labels)
        check_classes(type(self).__name__, batch, self.knobs.num_classes, self.knobs.dim)
        return batch


def check_classes(owner: str, batch: Batch, num_classes: int, dim: int) -> None:
    """Refuse embeddings of another width and labels without a class weight."""
    if batch.queries.shape[1] != dim:
        raise ValueError(f"{owner} was built for embeddings of width {dim}, got {batch.queries.shape[1]}.")
    if not len(batch):
        return
    low, high = int(batch.query_labels.min()), int(batch.query_labels.max())
    if low < 0 or high >= num_classes:
        raise ValueError(f"{owner}: labels must satisfy 0 <= label < {num_classes} (num_classes), got {low} to {high}.")


def normalised(batch: Batch) -> Batch:
    """The batch with rows of unit length."""
    queries = unit(batch.queries)
    return replace(batch, queries=queries, items=queries if batch.items is batch.queries else unit(batch.items))


def full_precision(embeddings: Any) -> torch.autocast:
    """Switches autocast off: similarities and ranks are not for half precision."""
    device = embeddings.device.type if isinstance(embeddings, Tensor) else "cpu"
    return torch.autocast(device, enabled=False)


def mean_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """Mean over each query's own entries, [n]; NaN where it has none.

    values: [p]; owner: int64 [p], the query of each.
    """
    count = torch.bincount(owner, minlength=queries)
    total = values.new_zeros(queries).index_add(0, owner, values)
    return (total / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of each row over the masked entries, [n] from [n r]; zero where there is none."""
    return torch.where(mask, values, 0).sum(1) / mask.sum(1).clamp_min(1)
