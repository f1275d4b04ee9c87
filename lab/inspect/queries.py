"""The contribution of each query to a loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import Subject, batch, repeatable

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Method = Literal["per_query", "elements", "leave one out"]


@dataclass(frozen=True)
class QueryValues(Insight):
    """One value for each query.

    name: the loss.
    labels: int64 [n].
    values: float64 [n]; NaN for a query that the loss leaves out.
    method: how the values were computed. "per_query": by the loss's own method. "elements": from the pairs or triplets
        of a pytorch-metric-learning loss that have the query as anchor, as a mean over each kind. "leave one out": by
        how much the loss falls when the item is removed from the batch.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> contributions = lab.inspect.query_values(loss, embeddings, labels)
        >>> contributions.method, contributions.values.round(2)
        ('per_query', array([0.11, 0.49, 0.49, 0.11]))
    """

    name: str
    labels: np.ndarray
    values: np.ndarray
    method: Method

    @property
    def summary(self) -> str:
        if np.isnan(self.values).all():
            return f"{self.name}: no query has a value; the batch holds no pair of one label."
        worst = int(np.nanargmax(self.values))
        sentence = (
            f"{self.name} by query ({self.method}): median {np.nanmedian(self.values):.4g}, worst {worst} with "
            f"{self.values[worst]:.4g}"
        )
        left_out = int(np.isnan(self.values).sum())
        if left_out:
            sentence += f"; {left_out} queries left out"
        return f"{sentence}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per query, worst first: query, label, value."""
        table = frame(query=np.arange(len(self.values)), label=self.labels, value=self.values)
        return table.sort_values("value", ascending=False, kind="stable", ignore_index=True)

    def figure(self) -> go.Figure:
        """Draw the values of all queries, worst first."""
        table = self.to_frame()
        figure = style.canvas(
            f"{self.name}: what each query contributes",
            self.summary,
            x="queries, worst first",
            y="value of the query",
        )
        figure.add_scatter(
            y=table["value"],
            x=np.arange(1, len(table) + 1),
            mode="lines+markers",
            line=style.line(0, 1),
            marker=style.marker(0, 5),
            customdata=table[["query", "label"]],
            hovertemplate="query %{customdata[0]}, label %{customdata[1]}<br>%{y:.4g}<extra></extra>",
        )
        return figure


def query_values(loss: Callable, embeddings: Any, labels: Any = None) -> QueryValues:
    """Compute the contribution of each query: by the loss's own method, from its elements, or by leaving each item out.

    Raises:
        ValueError: the loss is not a callable that returns one number.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.query_values(lambda e, y: e.sum(), embeddings, labels).method  # it has no values per query
        'leave one out'
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    with torch.no_grad():
        whole = subject.value(vectors, classes).item()
        values, method = _query_values(subject, vectors, classes, whole)
    return QueryValues(subject.name, classes.cpu().numpy(), values, method)


def _query_values(
    subject: Subject, vectors: Tensor, classes: Tensor, whole: float
) -> tuple[np.ndarray, Method]:
    """Return the values [n] by the first method that works; `whole` is the loss of the whole batch."""
    losses = subject.per_query(vectors, classes)
    if losses is not None:
        return losses.cpu().numpy(), "per_query"

    elements = _element_values(subject, vectors, classes)
    if elements is not None:
        return elements, "elements"

    values = []
    keep = ~torch.eye(len(classes), dtype=torch.bool, device=classes.device)
    for rows in keep:  # all rows but one
        values.append(whole - subject.value(vectors[rows], classes[rows]).item())
    return np.array(values), "leave one out"


def _element_values(subject: Subject, vectors: Tensor, classes: Tensor) -> np.ndarray | None:
    """Return the values of a pytorch-metric-learning loss, added up by the first item of each pair or triplet."""
    from pytorch_metric_learning.losses import BaseMetricLossFunction
    from pytorch_metric_learning.reducers import DoNothingReducer

    loss = subject.fresh(vectors.device)
    if not isinstance(loss, BaseMetricLossFunction):
        return None
    loss.reducer = DoNothingReducer()
    with repeatable(vectors.device):
        parts = loss(vectors, classes)
    n = len(classes)
    total = np.zeros(n)
    has_elements = np.zeros(n, dtype=bool)
    for part in parts.values():
        kind = part["reduction_type"]
        values = part["losses"]
        indices = part["indices"]
        if kind == "already_reduced":
            return None
        if not isinstance(values, Tensor):  # the loss has no elements of this kind in the batch
            continue
        anchors = indices if kind == "element" else indices[0]
        anchors = anchors.cpu().numpy()
        count = np.bincount(anchors, minlength=n)
        sums = np.bincount(anchors, weights=values.double().cpu().numpy(), minlength=n)
        total += sums / np.maximum(count, 1)
        has_elements |= count > 0
    return np.where(has_elements, total, np.nan)
