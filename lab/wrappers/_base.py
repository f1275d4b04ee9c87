"""The frame of every wrapper: a loss made of another loss."""

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
    "family", "cosine", "needs_positives", "learns_from_negatives", "takes_references", "takes_mined_pairs",
    "mean_of_queries", "shares_add_up", "compares_items", "exact_gradient", "takes_zero_rows", "without_chance",
)  # fmt: skip
"""What holds of a wrapper because it holds of the loss inside."""


class Wrapper(Loss):
    """Base of every wrapper. `loss` is one of ours, or any callable in pytorch-metric-learning's convention.

    Input is checked, and normalised, as the wrapped loss wants it; the facts of the wrapped loss hold unless a wrapper
    says otherwise.
    """

    loss: Any = argument("The loss to wrap.", kw_only=False)

    def __post_init__(self) -> None:
        if not callable(self.loss):
            who, given = type(self).__name__, type(self.loss).__name__
            raise ValueError(f"{who} needs a loss to wrap, got {given}; create it first.")
        self.loss = self.loss if isinstance(self.loss, Loss) else Foreign(self.loss)
        for fact in FACTS:
            setattr(self, fact, getattr(self.loss, fact))

    @property
    def peak(self) -> Peak | None:
        """That of a ranking loss inside, and only a guess: a wrapper that knows what it adds says so instead."""
        inner = self.loss.peak
        return inner and replace(inner, guess=True)

    @property
    def ranks_itself(self) -> bool:
        return self.loss.ranks_itself

    def _admit(self, *args: Any) -> Batch:
        return self.loss._admit(*args)


class Foreign(Loss):
    """Somebody else's loss, called as pytorch-metric-learning calls its own. It has no value per query."""

    cosine = False
    takes_mined_pairs = True
    mean_of_queries = False

    def __init__(self, call: Callable[..., Tensor]):
        super().__init__()
        self.call = call
        self.takes_references = "ref_emb" in inspect.signature(getattr(call, "forward", call)).parameters

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        if batch.items is batch.queries:
            given = () if batch.mined is None else (batch.mined,)
            return self.call(batch.queries, batch.query_labels, *given, **kwargs)
        mined = batch.mined if batch.mined is not None or not batch.self_ranked else batch.every_pair()
        references = {"ref_emb": batch.items, "ref_labels": batch.item_labels}
        return self.call(batch.queries, batch.query_labels, mined, **references, **kwargs)

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        name = getattr(self.call, "__name__", type(self.call).__name__)
        raise ValueError(f"{name} gives one number a batch, so there is no value per query.")
