"""Base class of all wrappers: losses that contain another loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from lab.core.knobs import argument
from lab.core.knobs import knob as knob
from lab.kernels import Peak as Peak
from lab.losses import Batch, Loss

FACTS = (
    "family",
    "cosine",
    "needs_positives",
    "learns_from_negatives",
    "takes_references",
    "takes_mined_pairs",
    "mean_of_queries",
    "shares_add_up",
    "compares_items",
    "exact_gradient",
    "takes_zero_rows",
    "without_chance",
)
"""Class attributes of the wrapped loss that also hold for the wrapper."""


class Wrapper(Loss):
    """Base class of all wrappers. `loss` is a loss of this library or a callable like pytorch-metric-learning's losses.

    The wrapper validates and normalises its input as the wrapped loss does. The class attributes of the wrapped loss
    also hold for the wrapper, unless the wrapper sets its own.
    """

    loss: Any = argument("The loss to wrap.", kw_only=False)

    def __post_init__(self) -> None:
        if not callable(self.loss):
            name = type(self).__name__
            raise ValueError(
                f"{name} needs a loss to wrap, got {type(self.loss).__name__}; create it first."
            )
        if not isinstance(self.loss, Loss):
            self.loss = Foreign(self.loss)
        for fact in FACTS:
            setattr(self, fact, getattr(self.loss, fact))

    @property
    def peak(self) -> Peak | None:
        """The peak of the wrapped loss, marked as a guess; a wrapper that knows its own memory overrides this."""
        inner = self.loss.peak
        if inner is None:
            return None
        return replace(inner, guess=True)

    @property
    def ranks_itself(self) -> bool:
        return self.loss.ranks_itself

    def _admit(self, *args: Any) -> Batch:
        return self.loss._admit(*args)


class Foreign(Loss):
    """A loss of another library, called in pytorch-metric-learning's convention. It has no value per query."""

    cosine = False
    takes_mined_pairs = True
    mean_of_queries = False

    def __init__(self, call: Callable[..., Tensor]):
        super().__init__()
        self.call = call
        self.takes_references = (
            "ref_emb" in inspect.signature(getattr(call, "forward", call)).parameters
        )

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        mined = batch.mined
        if batch.items is batch.queries:
            if mined is None:
                return self.call(batch.queries, batch.query_labels, **kwargs)
            return self.call(batch.queries, batch.query_labels, mined, **kwargs)

        if mined is None and batch.self_ranked:
            mined = batch.every_pair()  # without the pairs of a query with itself
        references = {"ref_emb": batch.items, "ref_labels": batch.item_labels}
        return self.call(batch.queries, batch.query_labels, mined, **references, **kwargs)

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        name = getattr(self.call, "__name__", type(self.call).__name__)
        raise ValueError(
            f"{name} returns one number per batch, so it has no values per query; call it instead."
        )
