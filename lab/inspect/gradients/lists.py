"""The gradient of a loss of one query with respect to the similarity of every item of its ranked list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.core.knobs import describe
from lab.core.results import as_array
from lab.inspect._insight import Insight, frame
from lab.kernels import paths
from lab.losses import Batch, Loss

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


def list_losses() -> list[str]:
    """Return the names of the losses that `list_gradients` accepts: functions of a query's similarities and relevance.

    Example:
        >>> import lab
        >>> {"smooth_ap", "contextual"} & set(lab.inspect.list_losses())
        {'smooth_ap'}
    """
    names = []
    for name, loss in losses.entries().items():
        has_required_knobs = any(knob.required for knob in describe(loss.Knobs))
        if _is_list_loss(loss) and not has_required_knobs:
            names.append(name)
    return names


names = list_losses
"""Lets a knob list these names, as it lists those of a catalogue."""


def _is_list_loss(loss: type[Loss]) -> bool:
    return loss.takes_references and loss.cosine and not loss.compares_items


@dataclass(frozen=True)
class ListGradients(Insight):
    """The gradient d loss / d similarity of every item of one query's list.

    name: the loss.
    value: the loss of this query alone.
    similarities, gradients: float64 [g]; below zero the item is pulled closer, above zero pushed away.
    relevant: bool [g].

    Example:
        >>> import lab
        >>> loss = lab.losses.create("smooth_ap", tau=0.1)
        >>> pulls = lab.inspect.list_gradients(loss, similarities=[0.9, 0.8], relevant=[False, True])
        >>> pulls.gradients.round(2)  # the positive is pulled, the negative above it pushed
        array([ 0.66, -0.66])
    """

    name: str
    value: float
    similarities: np.ndarray
    relevant: np.ndarray
    gradients: np.ndarray

    @property
    def scale(self) -> float:
        """The largest pull or push."""
        return float(np.abs(self.gradients).max(initial=0.0))

    @property
    def wrong_way(self) -> np.ndarray:
        """bool [g]: relevant items that are pushed away, and others that are pulled closer."""
        return np.where(self.relevant, self.gradients > 0, self.gradients < 0)

    @property
    def carriers(self) -> int:
        """The smallest number of items that have nine tenths of the summed gradient magnitude; 0 without gradient."""
        sizes = np.sort(np.abs(self.gradients))[::-1]
        total = sizes.sum()
        if total > 0:
            return int(np.searchsorted(np.cumsum(sizes), 0.9 * total) + 1)
        return 0

    @property
    def summary(self) -> str:
        start = f"{self.name} = {self.value:.4g} for this query"
        if not self.carriers:
            return f"{start}; it moves nothing on this list."
        size = len(self.gradients)
        silent = np.abs(self.gradients) < 1e-3 * self.scale
        sentence = (
            f"{start}; {self.carriers:,} of {size:,} items carry 90% of the gradient, {int(silent.sum()):,} get less "
            f"than a thousandth of the largest ({self.scale:.3g})"
        )
        wrong = int((self.wrong_way & ~silent).sum())
        if wrong:
            sentence += f", {wrong:,} are moved the wrong way"
        return f"{sentence}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item, best first: item (its position in the input), relevant, similarity, gradient."""
        items = np.arange(len(self.gradients))
        table = frame(
            item=items,
            relevant=self.relevant,
            similarity=self.similarities,
            gradient=self.gradients,
        )
        return table.sort_values("similarity", ascending=False, kind="stable", ignore_index=True)

    def figure(self) -> go.Figure:
        """Draw gradient against similarity, for at most 4,000 items of each kind, those with the largest gradient."""
        figure = style.canvas(
            f"{self.name}: what it does to this list",
            "above zero an item is pushed away, below zero pulled closer",
            x="similarity to the query (cosine)",
            y="gradient of the loss / cosine",
        )
        for index, (label, mask) in enumerate(
            (("same label", self.relevant), ("different label", ~self.relevant))
        ):
            chosen = np.flatnonzero(mask)
            chosen = chosen[np.argsort(-np.abs(self.gradients[chosen]), kind="stable")[:4000]]
            figure.add_scatter(
                x=self.similarities[chosen],
                y=self.gradients[chosen],
                mode="markers",
                name=f"{label} ({int(mask.sum())})",
                marker={**style.marker(index, 7), "opacity": 0.7},
            )
        figure.add_hline(y=0, line={"color": style.BLACK, "width": 1})
        return figure


def list_gradients(loss: Loss, similarities: ArrayLike, relevant: ArrayLike) -> ListGradients:
    """Compute the gradient of a loss of one query with respect to the similarities of its list, by one backward pass.

    The loss gets a query and items of width one, whose dot products are the similarities. The check that rows have
    unit length is skipped.

    Args:
        loss: one of `list_losses`.
        similarities: floats [g].
        relevant: bool [g], at least one of them true.

    Raises:
        ValueError: the loss is of another kind, the arrays do not fit, or no item is relevant.

    Example:
        >>> import lab
        >>> loss = lab.losses.create("smooth_ap", tau=0.1)
        >>> round(lab.inspect.list_gradients(loss, [0.9, 0.8, 0.1], [False, True, False]).value, 3)
        0.423
    """
    if not isinstance(loss, Loss) or not _is_list_loss(type(loss)):
        raise ValueError(
            f"{type(loss).__name__} is not a function of one query's similarities alone; take one of "
            f"{', '.join(list_losses())}."
        )
    scores = np.ascontiguousarray(as_array(similarities, "similarities"), np.float64)
    hits = as_array(relevant, "relevances").astype(bool)
    if scores.ndim != 1 or scores.shape != hits.shape or not np.isfinite(scores).all():
        raise ValueError(
            f"similarities must be finite numbers [g] with one relevance each, got {scores.shape} and {hits.shape}."
        )
    if not hits.any():
        raise ValueError("The query has no relevant item, so no loss moves anything on its list.")
    items = torch.from_numpy(scores)[:, None].requires_grad_()
    item_labels = torch.from_numpy(hits.astype(np.int64))
    query = torch.ones(1, 1, dtype=torch.float64)
    query_label = torch.ones(1, dtype=torch.int64)
    batch = Batch(query, query_label, items, item_labels, self_ranked=False)
    with paths.force("plain"):  # no loss of a list draws random numbers
        value = loss.total(batch)
        (gradient,) = torch.autograd.grad(value, items, allow_unused=True)
    if gradient is None:
        gradients = np.zeros(len(scores))
    else:
        gradients = gradient[:, 0].numpy()
    return ListGradients(type(loss).__name__, value.item(), scores, hits, gradients)
