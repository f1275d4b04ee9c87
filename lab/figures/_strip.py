"""Drawing a ranked list: one row an item, best first, with an arrow that says where descent pushes its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.core import style

if TYPE_CHECKING:
    import plotly.graph_objects as go


def draw_strip(
    figure: go.Figure, scores: np.ndarray, relevant: np.ndarray, push: np.ndarray, row: int = 1, col: int = 1
) -> None:
    """Add the list to a panel.

    Args:
        scores: [g], similarities to the query.
        relevant: bool [g].
        push: [g], minus the gradient of the loss with respect to each score; arrows are scaled to the largest.
    """

    order = np.argsort(-scores, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(1, len(order) + 1)
    names = item_names(relevant)
    for index, (label, mask) in enumerate((("same label", relevant), ("different label", ~relevant))):
        figure.add_scatter(
            x=scores[mask], y=place[mask], mode="markers+text", name=label, legendgroup=label,
            text=[n for n, m in zip(names, mask, strict=True) if m], textposition="bottom center",
            marker=style.marker(index, 13), customdata=push[mask],
            hovertemplate="rank %{y}<br>similarity %{x:.4f}<br>push %{customdata:.3g}<extra>%{text}</extra>", row=row,
            col=col,
        )  # fmt: skip
    spread = max(float(np.ptp(scores)), 0.02)
    axes = _axis(figure, row, col, "x"), _axis(figure, row, col, "y")
    largest = np.abs(push).max()
    for s, rank, p, mine in zip(scores, place, push, relevant, strict=True):
        if largest > 0 and abs(p) >= 0.004 * largest:
            _add_arrow(figure, s, s + 0.22 * spread * p / largest, rank, (p > 0) == bool(mine), axes)
    figure.update_xaxes(
        title_text="similarity to the query (cosine)",
        range=[scores.min() - 0.3 * spread, scores.max() + 0.3 * spread],
        row=row,
        col=col,
    )
    figure.update_yaxes(title_text="rank", range=[len(scores) + 0.8, 0.3], dtick=1, zeroline=False, row=row, col=col)


def _add_arrow(figure: go.Figure, start: float, end: float, rank: int, right: bool, axes: tuple[str, str]) -> None:
    """Along the row of a rank, between two scores; its colour says whether it points where the item should go."""
    x, y = axes
    figure.add_annotation(
        x=end, y=rank, ax=start, ay=rank, xref=x, yref=y, axref=x, ayref=y, showarrow=True, arrowhead=2,
        arrowwidth=2.5, arrowcolor=style.BLUE if right else style.VERMILLION, text="",
    )  # fmt: skip


def item_names(relevant: np.ndarray) -> list[str]:
    """P1, P2 ... for the positives and N1, N2 ... for the negatives, in the order of the knob."""
    counts = {True: 0, False: 0}
    names = []
    for mine in relevant.tolist():
        counts[mine] += 1
        names.append(f"{'P' if mine else 'N'}{counts[mine]}")
    return names


def _axis(figure: go.Figure, row: int, col: int, which: str) -> str:
    subplot = figure.get_subplot(row, col)
    axis = getattr(subplot, f"{which}axis")
    return axis.plotly_name.replace("axis", "")
