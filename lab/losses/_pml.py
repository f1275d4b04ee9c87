"""Base class of the losses that pytorch-metric-learning computes: those with weights for each class.

The library scales rows to unit length itself and averages over the batch. It is imported when a loss is built, not when
its knobs are read, because it imports SciPy, which takes a second.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from lab.core.catalog import name_of
from lab.core.explain import need
from lab.kernels import near_one
from lab.losses._base import ClassLoss
from lab.losses._batch import Batch

OTHER_NAMES = {"dim": "embedding_size"}
"""The library's name of a knob, where it differs."""


class PmlClassLoss(ClassLoss):
    """Base class of pytorch-metric-learning's losses with weight vectors (proxies) for each class.

    `per_query` returns n times each example's share of the loss, so that its mean is the loss.
    """

    cosine = False
    takes_mined_pairs = True
    mean_of_queries = False
    theirs: ClassVar[str]
    """Name of the library's class, which takes all knobs; another one is made by `build`."""

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
        return replace(batch, queries=queries, items=queries)

    def total(self, batch: Batch) -> Tensor:
        return self.inner(batch.queries, batch.query_labels, batch.mined)

    def values(self, batch: Batch) -> Tensor:
        items = (batch.items, batch.item_labels)
        parts = self.inner.compute_loss(batch.queries, batch.query_labels, batch.mined, *items)
        shares = torch.zeros_like(batch.queries[:, 0])
        for part in parts.values():
            shares = shares + self._shares(part, batch)
        return shares

    def _shares(self, part: dict, batch: Batch) -> Tensor:
        """Divide one part of the loss among the examples, in proportion to their values; times n, [n]."""
        reduced = self.inner.reducer({"loss": part}, batch.queries, batch.query_labels)
        zeros = torch.zeros_like(batch.queries[:, 0])
        if part["reduction_type"] == "already_reduced":
            return zeros + reduced
        values = part["losses"].flatten()
        whole = values.sum()
        return zeros.index_add(0, part["indices"], values) * (
            len(batch) * reduced / torch.where(whole == 0, 1, whole)
        )
