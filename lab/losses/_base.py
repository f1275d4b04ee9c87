"""Base classes of all losses. They validate the inputs, compute one value per query, and return their mean.

A loss consists of its knobs, the weights that it learns (if any), and pure functions of tensors. It takes embeddings
and labels, never the model, in the calling convention of pytorch-metric-learning: that library's trainers and
`MultipleLosses` accept it as it is. Wrappers that insist on a class of that library accept `lab.losses.for_pml(loss)`.
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
"""What a loss compares: ranked lists, pairs, triplets, examples with class proxies, or classes."""


class RankingKnobs(HasKnobs):
    """The two knobs that all ranking losses share."""

    variant: Variant = knob(
        "Follow the paper's formula, or what the authors' released code computes.", default="paper"
    )
    include_self: bool | None = knob(
        "Whether a query is among the items that it ranks; none: as the variant does.", default=None
    )


def at_the_edge(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Decorate a public method of a loss: torch.compile skips it, and torch.func gets a clear error.

    The batch decides what is computed, and some loops are compiled by numba, so torch.compile cannot trace a graph. A
    compiled model therefore runs its loss without compiling it.
    """

    @functools.wraps(method)
    def checked_call(self: Loss, *args: Any, **named: Any) -> Tensor:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(checked_call)(self, *args, **named)
        try:
            return method(self, *args, **named)
        except TypeError as error:
            if not re.search("(positional|keyword) argument", str(error)):
                raise  # not about the arguments of this call
            raise ValueError(
                f"{type(self).__name__} is called with embeddings and labels: {error}."
            ) from error
        except RuntimeError as error:
            if not any(word in str(error) for word in ("setup_context", "vmap")):
                raise  # not from a transform of torch.func
            raise RuntimeError(
                f"{type(self).__name__} cannot be transformed by torch.func (grad, jacrev, vmap, ...): its computation "
                "depends on the values of the batch, and its gradient may be written by hand; call the loss, then "
                "backward()."
            ) from error

    return checked_call


class Loss(HasKnobs, nn.Module):
    """Base class of all losses and wrappers.

    A subclass declares its knobs and defines `values`. If the loss is not a mean over queries, the subclass also
    defines `total` and sets `mean_of_queries` to False. The rest of the library reads these class attributes:

    family: what the loss compares.
    peak: the most memory that the compiled tiles of a ranking loss hold; for other losses the memory is measured.
    cosine: rows are scaled to unit length first; False for losses of embeddings that are not normalised.
    lengths_matter: the lengths of embeddings carry information, so the encoder should not normalise them.
    needs_positives: a batch must hold a positive pair; False for losses that compare with class weights.
    learns_from_negatives: a batch without positive pairs still has a loss, from its negatives; otherwise it is zero.
    takes_references: the loss accepts `ref_emb`.
    takes_mined_pairs: the loss accepts the indices tuple of a miner.
    mean_of_queries: `forward` is the mean of `per_query` over the queries that have positives.
    shares_add_up: for a loss that is not a mean over queries: the mean of `per_query` still equals the loss if every
        query has a positive.
    compares_items: the loss also reads similarities among the items, so a query's list alone does not decide its value.
    exact_gradient: backward is the derivative of forward; False where the paper replaces it by something else.
    takes_zero_rows: a row of zeros has a value.
    without_chance: knob values with which no variant draws random numbers.
    with_self: variants in which a query is among the items that it ranks, unless `include_self` is set.
    temperatures: knobs that make the loss steeper, each with the factor that makes it ten times as steep: 0.1 for a
        temperature, 10 for the inverse of a temperature. Only knobs on similarities, not those on ranks.
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
        """Create a loss for a number of classes and an embedding width; losses without these knobs ignore them."""
        sizes = {"num_classes": num_classes, "dim": dim}
        known_sizes = {name: size for name, size in sizes.items() if name in cls.Knobs.model_fields}
        return cls(**known_sizes, **knobs)

    @property
    def ranks_itself(self) -> bool:
        """Whether a query is among the items that it ranks."""
        include_self = getattr(self.knobs, "include_self", None)
        if include_self is not None:
            return include_self
        return getattr(self.knobs, "variant", None) in self.with_self

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        """Compute one value per query, [n]; NaN for a query without positives. `batch` is validated already."""
        raise NotImplementedError

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        """Compute the loss, [], of a batch that holds a query and, if the loss needs one, a positive pair.

        In training mode a loss with random `draws` moves on to the next draw.
        """
        loss = self.values(batch, **kwargs).nanmean()
        draws = getattr(self, "draws", None)
        if self.training and draws is not None:
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
        """Compute the loss of a batch, [].

        Args:
            embeddings: float [n d]. The loss computes in float32, or in float64 if the embeddings are float64, also
                under autocast. A row of zeros has similarity 0 to every row.
            labels: whole numbers [n], any values in any order.
            indices_tuple: a miner's indices; pytorch-metric-learning's trainers pass them as the third argument.
            ref_emb: [r d], the items to rank instead of the batch; no query is removed from them.
            ref_labels: [r], the labels of `ref_emb`.
            kwargs: arguments of this loss alone, for instance the mixing weights of SiMix.

        A batch without a positive pair gives a warning and a loss of zero with a gradient of zeros, unless the loss
        learns from negatives alone. A batch of a single class also gives a warning if its loss is zero. Works with
        torch.func.functional_call; torch.compile runs it uncompiled.

        Raises:
            ValueError: the input is invalid. The message names the first row that holds NaN or infinity. A tensor as
                the third argument is refused: pass references by name.
            RuntimeError: in backward with create_graph=True, if the gradient is written by hand (all ranking losses);
                under the transforms grad and vmap of torch.func.
        """
        with full_precision(embeddings):
            batch = self._admit(embeddings, labels, indices_tuple, ref_emb, ref_labels)
            if not self._has_value(batch):
                return self.without_positives(batch, **kwargs)
            loss = self.total(batch, **kwargs)
            if not loss.any() and (batch.item_labels == batch.query_labels[0]).all():
                warnings.warn(
                    f"{type(self).__name__}: every image of this batch has the same label, so the gradient is zero; "
                    "sample at least two classes per batch.",
                    stacklevel=3,
                )
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
        """Compute one value per query, [n]; NaN for a query without positives. Arguments and errors as in `forward`."""
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
                "pass references by name, ref_emb= and ref_labels=."
            )
        if indices_tuple is not None and not self.takes_mined_pairs:
            raise ValueError(
                f"{owner} reads every pair of the batch and takes no mined pairs; leave out the third argument, "
                "indices_tuple."
            )
        if ref_emb is not None and ref_emb is not embeddings and not self.takes_references:
            raise ValueError(
                f"{owner} has its own items to compare with and takes no ref_emb; leave ref_emb out."
            )

        batch = admit(owner, embeddings, labels, ref_emb, ref_labels)
        if indices_tuple is not None:
            check_mined(owner, indices_tuple, len(batch), len(batch.items))
        batch = replace(batch, mined=indices_tuple)
        return normalised(batch) if self.cosine else batch

    def without_positives(self, batch: Batch, **kwargs: Any) -> Tensor:
        """Return the loss of a batch that has no positive pair (a scalar tensor), and warn."""
        learns = len(batch) > 1 and len(batch.items) > 0 and self.learns_from_negatives
        consequence = (
            "it only pushes negatives apart" if learns else "the loss is zero and its gradient, too"
        )
        if len(batch) == 0:
            problem = "the batch is empty"
        elif batch.self_ranked:
            problem = f"no two examples of the batch share a label among {len(batch)} queries"
        else:
            problem = f"no query and reference share a label among {len(batch)} queries"
        warnings.warn(
            f"{type(self).__name__}: {problem}, so {consequence}; sample at least two images per class.",
            stacklevel=4,
        )
        if learns:
            return self.total(batch, **kwargs)
        # a zero that is connected to the embeddings
        return (batch.queries.sum() + batch.items.sum()) * 0

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.knobs)


class ClassLoss(Loss):
    """Base class of losses that compare each example with learnt class weights, so a batch needs no positive pairs."""

    needs_positives = False
    takes_references = False
    num_classes: int = knob(
        "Number of classes; labels run from 0 to this number minus 1.", ge=1, le=MOST_ITEMS
    )
    dim: int = knob("Width of the embeddings.", ge=1, le=WIDEST)

    def _admit(self, *args: Any) -> Batch:
        batch = super()._admit(*args)
        check_classes(type(self).__name__, batch, self.knobs.num_classes, self.knobs.dim)
        if self.lengths_matter:
            check_squares(type(self).__name__, batch.queries)
        return batch


def check_classes(owner: str, batch: Batch, num_classes: int, dim: int) -> None:
    """Raise ValueError if the embeddings have another width or a label has no class weight."""
    if batch.queries.shape[1] != dim:
        raise ValueError(
            f"{owner} was built for embeddings of width {dim}, got {batch.queries.shape[1]}."
        )
    if not len(batch):
        return
    low = int(batch.query_labels.min())
    high = int(batch.query_labels.max())
    if low < 0 or high >= num_classes:
        raise ValueError(
            f"{owner}: labels must satisfy 0 <= label < {num_classes} (num_classes), got {low} to {high}."
        )


def check_squares(owner: str, rows: Tensor) -> None:
    """Raise ValueError if the squared length of a row [n d] overflows its type."""
    if not rows.numel():
        return
    limit = (torch.finfo(rows.dtype).max / rows.shape[1]) ** 0.5
    largest = torch.linalg.vector_norm(rows.detach(), torch.inf, dim=1)
    if largest.max() > limit:
        row = int((largest > limit).nonzero()[0])
        raise ValueError(
            f"{owner}: row {row} of embeddings has an entry of {largest[row]:.1e}, too long for its square to be a "
            f"{str(rows.dtype).removeprefix('torch.')}; look for a learning rate that is too high."
        )


def normalised(batch: Batch) -> Batch:
    """Scale the queries and items of a batch to unit length."""
    queries = unit(batch.queries)
    # The kernels recognise a batch that is ranked among itself by queries and items being one tensor.
    items = queries if batch.items is batch.queries else unit(batch.items)
    return replace(batch, queries=queries, items=items)


def full_precision(embeddings: Any) -> torch.autocast:
    """Return a context that switches autocast off: similarities and ranks need more than half precision."""
    device = "cpu"
    if isinstance(embeddings, Tensor) and not embeddings.is_meta:
        device = embeddings.device.type
    return torch.autocast(device, enabled=False)


def mean_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """Average the values that belong to each query, [n]; NaN for a query without values.

    values: [p]; owner: int64 [p], the query that each value belongs to.
    """
    count = torch.bincount(owner, minlength=queries)
    total = values.new_zeros(queries).index_add(0, owner, values)
    return (total / count.clamp_min(1)).masked_fill(count == 0, torch.nan)
