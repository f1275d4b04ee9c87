"""Compare a surrogate loss with its metric: does the loss bound the metric's error, and where does it not?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lab.core import style
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import Subject, batch, cosines
from lab.inspect.against_metrics import exact

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Metric = Literal["average_precision", "recall_at_k"]

ROUNDING = 1e-9
"""A shortfall below this is rounding, not a broken bound."""


@dataclass(frozen=True)
class MetricBound(Insight):
    """Surrogate loss and true error of every query.

    name, metric: the loss, and the metric in words.
    surrogate: float64 [n], the loss of each query; NaN where it has no positive.
    error: float64 [n], 1 - metric, with ties counted against (H(0) = 1).
    tied: bool [n], queries for which a positive and a negative are exactly equally similar.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> bound = lab.inspect.metric_bound(loss, embeddings, labels)
        >>> bound.badge, bound.failing
        ('fails', array([1, 2]))
    """

    name: str
    metric: str
    surrogate: np.ndarray
    error: np.ndarray
    tied: np.ndarray

    @property
    def failing(self) -> np.ndarray:
        """int64 [f]: queries whose surrogate is below their true error, worst first."""
        shortfall = np.nan_to_num(self.error - self.surrogate, nan=-np.inf)
        order = np.argsort(-shortfall, kind="stable")
        return order[shortfall[order] > ROUNDING]

    @property
    def holds(self) -> bool:
        """Whether the surrogate is at least the error for every query."""
        return len(self.failing) == 0

    @property
    def badge(self) -> Literal["holds", "fails at ties", "fails"]:
        """Whether the bound holds, in a few words."""
        if self.holds:
            return "holds"
        if self.tied[self.failing].all():
            return "fails at ties"
        return "fails"

    @property
    def summary(self) -> str:
        means = f"mean surrogate {np.nanmean(self.surrogate):.4f}, mean error {np.nanmean(self.error):.4f}"
        if self.holds:
            return f"{style.RIGHT} Bound holds: {self.name} is at least 1 - {self.metric} for every query ({means})."
        worst = self.failing[0]
        if self.badge == "fails at ties":
            where = "only where a positive and a negative are tied"
        else:
            where = "not only at ties"
        return (
            f"{style.WRONG} Bound fails for {len(self.failing)} queries, {where}; worst is query {worst}: "
            f"{self.surrogate[worst]:.4f} against an error of {self.error[worst]:.4f} ({means})."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a query: query, surrogate, error, slack, tied."""
        query = np.arange(len(self.surrogate))
        slack = self.surrogate - self.error
        return frame(
            query=query, surrogate=self.surrogate, error=self.error, slack=slack, tied=self.tied
        )

    def figure(self) -> go.Figure:
        """Surrogate against error, one mark a query; below the diagonal the bound is broken."""
        figure = style.canvas(
            f"{self.name} beside 1 - {self.metric}",
            self.summary,
            x=f"true error, 1 - {self.metric}",
            y="surrogate loss of the query",
        )
        top = float(np.nanmax(np.concatenate([self.surrogate, self.error, [1.0]])))
        figure.add_scatter(
            x=[0, top], y=[0, top], mode="lines", name="surrogate = error", line=style.line(6, 1)
        )
        broken = np.isin(np.arange(len(self.error)), self.failing)
        for index, (name, mask) in enumerate((("bounded", ~broken), ("below the error", broken))):
            figure.add_scatter(
                x=self.error[mask],
                y=self.surrogate[mask],
                mode="markers",
                name=f"{style.RIGHT if index == 0 else style.WRONG} {name} ({int(mask.sum())})",
                marker=style.marker(index),
                customdata=np.flatnonzero(mask),
                hovertemplate="query %{customdata}<br>error %{x:.4f}<br>surrogate %{y:.4f}<extra></extra>",
            )
        return figure


def metric_bound(
    loss: Callable,
    embeddings: Any,
    labels: Any = None,
    metric: Metric = "average_precision",
    k: int = 1,
    include_self: bool | None = None,
) -> MetricBound:
    """Compare a loss with the exact metric of the same batch, query by query.

    Args:
        loss: one with `per_query(embeddings [n d], labels [n]) -> [n]`.
        embeddings, labels: the batch; rows are normalised for the metric.
        metric: "average_precision" (001, eq. 1) or "recall_at_k" (000, eq. 1, divided by min(k, |P|)).
        k: length of the short-list for "recall_at_k".
        include_self: rank the query too; for AP it is then also a positive. None follows the attribute `ranks_itself`
            of the loss, and leaves the query out if the loss has no such attribute.

    Raises:
        ValueError: the loss has no value per query, the metric is unknown, or k is below one.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.metric_bound(loss, embeddings, labels).error  # 1 - average precision of each query
        array([0. , 0.5, 0.5, 0. ])
    """
    subject = Subject(loss)
    vectors, classes = batch(embeddings, labels)
    losses = subject.per_query(vectors, classes)
    if losses is None:
        raise ValueError(
            f"A bound is checked query by query, so the loss needs a method per_query(embeddings [n d], labels [n]) "
            f"that returns [n]; {subject.name} has none."
        )
    surrogate = losses.cpu().numpy()
    if include_self is None:
        include_self = getattr(loss, "ranks_itself", False)

    similarities = cosines(vectors)
    label_array = classes.cpu().numpy()
    if metric == "average_precision":
        value = exact.average_precision(similarities, label_array, include_self)
        title = "AP"
    elif metric == "recall_at_k":
        if k < 1:
            raise ValueError(f"metric_bound: k must satisfy 1 <= k, got {k!r}.")
        value = exact.recall_at_k(similarities, label_array, k, include_self)
        title = f"recall@{k}"
    else:
        raise ValueError(
            f"metric_bound: metric must be average_precision or recall_at_k, got {metric!r}."
        )
    return MetricBound(
        subject.name, title, surrogate, 1 - value, exact.has_ties(similarities, label_array)
    )
