"""A surrogate beside the metric it stands for: does it bound the metric's error, and where not?"""

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
        short = np.nan_to_num(self.error - self.surrogate, nan=-np.inf)
        order = np.argsort(-short, kind="stable")
        return order[short[order] > ROUNDING]

    @property
    def holds(self) -> bool:
        """Whether the surrogate is at least the error for every query."""
        return len(self.failing) == 0

    @property
    def badge(self) -> Literal["holds", "fails at ties", "fails"]:
        """In one word, where the bound stands."""
        if self.holds:
            return "holds"
        return "fails at ties" if self.tied[self.failing].all() else "fails"

    @property
    def summary(self) -> str:
        means = f"mean surrogate {np.nanmean(self.surrogate):.4f}, mean error {np.nanmean(self.error):.4f}"
        if self.holds:
            return f"{style.RIGHT} Bound holds: {self.name} is at least 1 - {self.metric} for every query ({means})."
        worst = self.failing[0]
        where = "only where a positive and a negative are tied" if self.badge == "fails at ties" else "not only at ties"
        return (
            f"{style.WRONG} Bound fails for {len(self.failing)} queries, {where}; worst is query {worst}: "
            f"{self.surrogate[worst]:.4f} against an error of {self.error[worst]:.4f} ({means})."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a query: query, surrogate, error, slack, tied."""
        query, slack = np.arange(len(self.surrogate)), self.surrogate - self.error
        return frame(query=query, surrogate=self.surrogate, error=self.error, slack=slack, tied=self.tied)

    def figure(self) -> go.Figure:
        """Surrogate against error, one mark a query; below the diagonal the bound is broken."""
        figure = style.canvas(
            f"{self.name} beside 1 - {self.metric}",
            self.summary,
            x=f"true error, 1 - {self.metric}",
            y="surrogate loss of the query",
        )
        top = float(np.nanmax(np.concatenate([self.surrogate, self.error, [1.0]])))
        figure.add_scatter(x=[0, top], y=[0, top], mode="lines", name="surrogate = error", line=style.line(6, 1))
        broken = np.isin(np.arange(len(self.error)), self.failing)
        for index, (name, mask) in enumerate((("bounded", ~broken), ("below the error", broken))):
            figure.add_scatter(
                x=self.error[mask], y=self.surrogate[mask], mode="markers",
                name=f"{style.RIGHT if index == 0 else style.WRONG} {name} ({int(mask.sum())})",
                marker=style.marker(index), customdata=np.flatnonzero(mask),
                hovertemplate="query %{customdata}<br>error %{x:.4f}<br>surrogate %{y:.4f}<extra></extra>",
            )  # fmt: skip
        return figure


def metric_bound(
    loss: Callable,
    embeddings: Any,
    labels: Any = None,
    metric: Metric = "average_precision",
    k: int = 1,
    include_self: bool | None = None,
) -> MetricBound:
    """Set a loss beside the exact metric of the same batch, query by query.

    Args:
        loss: one with `per_query(embeddings [n d], labels [n]) -> [n]`.
        embeddings, labels: the batch; rows are normalised for the metric.
        metric: "average_precision" (001, eq. 1) or "recall_at_k" (000, eq. 1, divided by min(k, |P|)).
        k: length of the short-list for "recall_at_k".
        include_self: rank the query too; for AP it is then also a positive. None does as the loss says that it does
            (`ranks_itself`), and leaves the query out where the loss says nothing.

    Raises:
        ValueError: the loss cannot say what each query contributes, an unknown metric, or k below one.

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
    include_self = getattr(loss, "ranks_itself", False) if include_self is None else include_self
    similarities, names = cosines(vectors), classes.cpu().numpy()
    if metric == "average_precision":
        value, words = exact.average_precision(similarities, names, include_self), "AP"
    elif metric == "recall_at_k":
        if k < 1:
            raise ValueError(f"metric_bound: k must satisfy 1 <= k, got {k!r}.")
        value, words = exact.recall_at_k(similarities, names, k, include_self), f"recall@{k}"
    else:
        raise ValueError(f"metric_bound: metric must be average_precision or recall_at_k, got {metric!r}.")
    return MetricBound(subject.name, words, surrogate, 1 - value, exact.tied(similarities, names))
