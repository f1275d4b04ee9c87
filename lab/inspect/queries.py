"""What each query contributes to a loss."""

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
    """One value a query.

    name: the loss.
    labels: int64 [n].
    values: float64 [n]; NaN for a query that the loss leaves out.
    method: "per_query", the loss's own; "elements", the pairs or triplets that a pytorch-metric-learning loss anchors
        at the query, mean over each kind; "leave one out", how much the loss falls when the item leaves the batch.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> found = lab.inspect.query_values(loss, embeddings, labels)
        >>> found.method, found.values.round(2)
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
        left_out = int(np.isnan(self.values).sum())
        return (
            f"{self.name} by query ({self.method}): median {np.nanmedian(self.values):.4g}, worst {worst} with "
            f"{self.values[worst]:.4g}" + (f"; {left_out} queries left out." if left_out else ".")
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a query, worst first: query, label, value."""
        table = frame(query=np.arange(len(self.values)), label=self.labels, value=self.values)
        return table.sort_values("value", ascending=False, kind="stable", ignore_index=True)

    def figure(self) -> go.Figure:
        """The queries' values in order, worst first."""
        table = self.to_frame()
        figure = style.canvas(
            f"{self.name}: what each query contributes",
            self.summary,
            x="queries, worst first",
            y="value of the query",
        )
        figure.add_scatter(
            y=table["value"], x=np.arange(1, len(table) + 1), mode="lines+markers", line=style.line(0, 1),
            marker=style.marker(0, 5), customdata=table[["query", "label"]],
            hovertemplate="query %{customdata[0]}, label %{customdata[1]}<br>%{y:.4g}<extra></extra>",
        )  # fmt: skip
        return figure


def query_values(loss: Callable, embeddings: Any, labels: Any = None) -> QueryValues:
    """Ask the loss itself, or read its elements, or leave each item out in turn.

    Raises:
        ValueError: the loss is not a callable that returns one number.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.query_values(lambda e, y: e.sum(), embeddings, labels).method  # asked from outside
        'leave one out'
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    with torch.no_grad():
        subject.value(vectors, classes)
        losses = subject.per_query(vectors, classes)
        method: Method = "per_query"
        values = None if losses is None else losses.cpu().numpy()
        if values is None:
            values, method = _elements(subject, vectors, classes), "elements"
        if values is None:
            whole, method = subject.value(vectors, classes).item(), "leave one out"
            keep = ~torch.eye(len(classes), dtype=torch.bool, device=classes.device)
            values = np.array([whole - subject.value(vectors[rows], classes[rows]).item() for rows in keep])
    return QueryValues(subject.name, classes.cpu().numpy(), values, method)


def _elements(subject: Subject, vectors: Tensor, classes: Tensor) -> np.ndarray | None:
    """Values of a pytorch-metric-learning loss, gathered at each element's first index."""
    from pytorch_metric_learning.losses import BaseMetricLossFunction
    from pytorch_metric_learning.reducers import DoNothingReducer

    loss = subject.fresh(vectors.device)
    if not isinstance(loss, BaseMetricLossFunction):
        return None
    loss.reducer = DoNothingReducer()
    with repeatable(vectors.device):
        parts = loss(vectors, classes)
    n = len(classes)
    total, seen = np.zeros(n), np.zeros(n, dtype=bool)
    for part in parts.values():
        kind, values, indices = part["reduction_type"], part["losses"], part["indices"]
        if kind == "already_reduced":
            return None
        if not isinstance(values, Tensor):
            continue
        anchor = (indices if kind == "element" else indices[0]).cpu().numpy()
        count = np.bincount(anchor, minlength=n)
        total += np.bincount(anchor, weights=values.double().cpu().numpy(), minlength=n) / np.maximum(count, 1)
        seen |= count > 0
    return np.where(seen, total, np.nan)
