"""The frame of every loss: checked input in, one value a query or their mean out.

A loss is its knobs, the weights that it learns if any, and pure functions of tensors. It takes embeddings and labels,
never the model, in the calling convention of pytorch-metric-learning: it drops into that library's trainers and
`MultipleLosses` as it is, and into the wrappers that ask for a class of their own by `lab.losses.for_pml`.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, cast

import torch
from torch import Tensor, nn

from lab.core.knobs import MOST_ITEMS, WIDEST, HasKnobs, knob
from lab.kernels import Peak, unit
from lab.losses._batch import Batch, admit, check_mined

Variant = Literal["paper", "released"]

Family = Literal["ranking", "pair", "triplet", "proxy", "classification"]
"""What a loss compares: a query's whole list, pairs, triplets, examples with learnt points of classes, or classes."""


class RankingKnobs(HasKnobs):
    """The two knobs of every ranking loss."""

    variant: Variant = knob("Follow the paper's formula, or what the authors' released code computes.", default="paper")
    include_self: bool | None = knob(
        "Whether a query is among the items that it ranks; none: as the variant does.", default=None
    )


def at_the_edge(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A call that torch.compile leaves as it is, and that explains itself to torch.func.

    Batches decide what is computed, some of it by loops that are compiled already, so there is no graph to be had: a
    compiled model runs its loss as it would run without.
    """

    @functools.wraps(method)
    def called(self: Loss, *args: Any, **named: Any) -> Tensor:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(called)(self, *args, **named)
        try:
            return method(self, *args, **named)
        except TypeError as error:
            if not re.search("(positional|keyword) argument", str(error)):
                raise
            raise ValueError(f"{type(self).__name__} is called with embeddings and labels: {error}.") from error
        except RuntimeError as error:
            if not any(word in str(error) for word in ("setup_context", "vmap")):
                raise
            raise RuntimeError(
                f"{type(self).__name__} cannot be transformed by torch.func (grad, jacrev, vmap, ...): it looks at the "
                "numbers of a batch, and its gradient may be written by hand; call it as it is, and then backward()."
            ) from error

    return called


class Loss(HasKnobs, nn.Module):
    """Base of every loss and wrapper.

    A subclass declares its knobs and defines `values`; where the loss is no mean over queries it defines `total`, too,
    and says so in `mean_of_queries`. What it declares here is all that anything else knows of it.

    family: what it compares.
    peak: memory that compiled tiles hold at most, of a ranking loss; that of other losses is measured.
    cosine: rows are scaled to unit length before anything else; off for losses of free embeddings.
    lengths_matter: wants embeddings of any length, so an encoder in front of it should not normalise.
    needs_positives: wants a pair of one class in a batch; off for losses that compare with class weights.
    learns_from_negatives: without such a pair the negatives still have a value; otherwise the loss is zero.
    takes_references: `ref_emb` has a meaning.
    takes_mined_pairs: a miner's indices tuple has a meaning.
    mean_of_queries: `forward` is the mean of `per_query` over the queries that have positives.
    shares_add_up: where it is no mean over queries, the mean of `per_query` is the loss if every query has a positive.
    compares_items: looks at similarities among the items, too, so that a query's own list does not decide its value.
    exact_gradient: backward is the slope of forward; off where the paper puts something else in its place.
    takes_zero_rows: a row of zeros has a value.
    without_chance: knobs with which no variant draws random numbers.
    with_self: variants in which a query is among the items that it ranks unless `include_self` says otherwise.
    temperatures: knobs that make the loss steeper, each with the factor that makes it ten times as steep: 0.1 for a
        temperature, 10 for the inverse of one. Only those on similarities, not those on ranks.
    """

    family: ClassVar[Family | None] = None
    peak: ClassVar[Peak | None] = None
    cosine = True
    lengths_matter = False
    needs_positives = True
    learns_from_negatives = False
    takes_references = True
    takes_mined_pairs = False
    mean_of_queries = cast(Any, True)  # a bool, or a property where it depends on the knobs
    shares_add_up = True
    compares_items = False
    exact_gradient = True
    takes_zero_rows = True
    without_chance: ClassVar[Mapping[str, Any]] = {}
    with_self: ClassVar[tuple[str, ...]] = ()
    temperatures: ClassVar[Mapping[str, float]] = {}

    @classmethod
    def sized(cls, num_classes: int, dim: int, **knobs: Any) -> Self:
        """One for so many classes and embeddings so wide, which most losses need not know."""
        fields = cls.Knobs.model_fields
        return cls(**{k: v for k, v in {"num_classes": num_classes, "dim": dim}.items() if k in fields}, **knobs)

    @property
    def ranks_itself(self) -> bool:
        """Whether a query is among the items that it ranks."""
        include_self = getattr(self.knobs, "include_self", None)
        return getattr(self.knobs, "variant", None) in self.with_self if include_self is None else include_self

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        """One value a query, [n]; NaN for a query without positives. The maths; `batch` is checked already."""
        raise NotImplementedError

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        """The loss, []; the batch has at least one query and, where the loss needs one, a positive.

        A training call takes the next of the numbered `draws`, where a loss has some.
        """
        loss = self.values(batch, **kwargs).nanmean()
        if self.training and (draws := getattr(self, "draws", None)) is not None:
            draws.advance()
        return loss

    @at_the_edge
    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: tuple[Tensor, ...] | None = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """The loss, [].

        Args:
            embeddings: float [n d]; computed in float32, or in float64 if it is that, under autocast too. A row of
                zeros is similar to nothing.
            labels: whole numbers [n], any values in any order.
            indices_tuple: what pytorch-metric-learning's trainers pass third.
            ref_emb: [r d], rank these instead of the batch; no query is removed from them.
            ref_labels: [r].
            kwargs: what only this loss takes, for instance the mixing weights of SiMix.

        A batch without any positive pair gives a warning, and a zero with a gradient of zeros unless the loss learns
        from negatives alone; so does one class, where a loss learns nothing from it. Works with
        torch.func.functional_call; torch.compile runs it uncompiled.

        Raises:
            ValueError: bad input, in one sentence; a value that is not finite is named by its row. A tensor in the
                third place is refused: references are given by name.
            RuntimeError: in backward, where a second derivative is asked for (create_graph=True) and the gradient is
                written by hand, which is so for every ranking loss; under torch.func's grad or vmap.
        """
        with full_precision(embeddings):
            batch = self._admit(embeddings, labels, indices_tuple, ref_emb, ref_labels)
            if not self._has_value(batch):
                return self.without_positives(batch, **kwargs)
            loss = self.total(batch, **kwargs)
            if not loss.any() and (batch.item_labels == batch.query_labels[0]).all():
                warnings.warn(f"{type(self).__name__}: all is of one class, so the loss teaches nothing.", stacklevel=3)
            return loss

    @at_the_edge
    def per_query(
        self,
        embeddings: Tensor,
        labels: Tensor,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """One value a query, [n]; NaN for a query that has no positive. Arguments and errors are those of `forward`."""
        with full_precision(embeddings):
            batch = self._admit(embeddings, labels, None, ref_emb, ref_labels)
            if self._has_value(batch):
                return self.values(batch, **kwargs)
            return torch.full_like(batch.queries[:, 0], torch.nan)

    def _has_value(self, batch: Batch) -> bool:
        return len(batch) > 0 and (batch.has_positives or not self.needs_positives)

    def _admit(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: tuple[Tensor, ...] | None,
        ref_emb: Tensor | None,
        ref_labels: Tensor | None,
    ) -> Batch:
        owner = type(self).__name__
        if isinstance(indices_tuple, Tensor):
            raise ValueError(
                f"{owner}: the third argument is a miner's indices tuple, got a tensor {list(indices_tuple.shape)}; "
                "give references by name, ref_emb= and ref_labels=."
            )
        if indices_tuple is not None and not self.takes_mined_pairs:
            raise ValueError(
                f"{owner} reads every pair of the batch and takes no mined pairs, a third argument; leave it out."
            )
        if ref_emb is not None and ref_emb is not embeddings and not self.takes_references:
            raise ValueError(f"{owner} brings what it compares with and takes no ref_emb.")
        batch = admit(owner, embeddings, labels, ref_emb, ref_labels)
        if indices_tuple is not None:
            check_mined(owner, indices_tuple, len(batch), len(batch.items))
        batch = replace(batch, mined=indices_tuple)
        return normalised(batch) if self.cosine else batch

    def without_positives(self, batch: Batch, **kwargs: Any) -> Tensor:
        """What a batch without any positive pair is worth, [], and a warning."""
        learns = len(batch) > 1 and len(batch.items) > 0 and self.learns_from_negatives
        others = "of the batch" if batch.self_ranked else "and reference"
        what = f"no two examples {others} share a label among {len(batch)} queries" if len(batch) else "batch is empty"
        follows = "it only pushes negatives apart" if learns else "the loss is zero and teaches nothing"
        warnings.warn(f"{type(self).__name__}: {what}, so {follows}; sample two images a class.", stacklevel=4)
        return self.total(batch, **kwargs) if learns else (batch.queries.sum() + batch.items.sum()) * 0

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.knobs)


class ClassLoss(Loss):
    """Base of the losses that compare each example with weights of its class, so that it needs no pairs."""

    needs_positives = False
    takes_references = False
    num_classes: int = knob("Number of classes; labels run from 0 to this number minus 1.", ge=1, le=MOST_ITEMS)
    dim: int = knob("Width of the embeddings.", ge=1, le=WIDEST)

    def _admit(self, *args: Any) -> Batch:
        batch = super()._admit(*args)
        check_classes(type(self).__name__, batch, self.knobs.num_classes, self.knobs.dim)
        if self.lengths_matter:
            check_squares(type(self).__name__, batch.queries)
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


def check_squares(owner: str, rows: Tensor) -> None:
    """Refuse rows [n d] whose squared length their type cannot hold."""
    most = (torch.finfo(rows.dtype).max / max(1, rows.shape[1])) ** 0.5
    largest = torch.linalg.vector_norm(rows.detach(), torch.inf, dim=1) if rows.numel() else rows.new_zeros(1)
    if largest.max() > most:
        row = int((largest > most).nonzero()[0])
        raise ValueError(
            f"{owner}: row {row} of embeddings has an entry of {largest[row]:.1e}, too long for its square to be a "
            f"{str(rows.dtype).removeprefix('torch.')}; look for a learning rate that is too high."
        )


def normalised(batch: Batch) -> Batch:
    """The batch with rows of unit length."""
    queries = unit(batch.queries)
    return replace(batch, queries=queries, items=queries if batch.items is batch.queries else unit(batch.items))


def full_precision(embeddings: Any) -> torch.autocast:
    """Switches autocast off: similarities and ranks are not for half precision."""
    real = isinstance(embeddings, Tensor) and not embeddings.is_meta
    return torch.autocast(embeddings.device.type if real else "cpu", enabled=False)


def mean_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """Mean over each query's own entries, [n]; NaN where it has none.

    values: [p]; owner: int64 [p], the query of each.
    """
    count = torch.bincount(owner, minlength=queries)
    total = values.new_zeros(queries).index_add(0, owner, values)
    return (total / count.clamp_min(1)).masked_fill(count == 0, torch.nan)
