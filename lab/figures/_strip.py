"""Drawing a ranked list: one row an item, best first, with an arrow that says where descent pushes its score."""

import numpy as np

from lab.core import style
from lab.figures import twelve
from lab.figures._base import LEFT, PlotlyFigure, arrow


def draw_strip(figure: PlotlyFigure, scores: np.ndarray, relevant: np.ndarray, push: np.ndarray) -> None:
    """Add the list to the first panel.

    Args:
        scores: [g], similarities to the query.
        relevant: bool [g].
        push: [g], minus the gradient of the loss with respect to each score; arrows are scaled to the largest.
    """
    order = np.argsort(-scores, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(1, len(order) + 1)
    names, items = item_names(relevant), twelve.stand_ins(relevant)
    for index, (label, mask) in enumerate((("same label", relevant), ("different label", ~relevant))):
        ring = style.marker(index, 13)
        if items is not None:
            ring |= {"symbol": ("circle-open", "diamond-open")[index], "size": 26}
        figure.add_scatter(
            x=scores[mask], y=place[mask], mode="markers", name=label, legendgroup=label,
            text=[n for n, m in zip(names, mask, strict=True) if m], customdata=push[mask],
            marker={"line": {"width": 2}, **ring},
            hovertemplate="rank %{y}<br>similarity %{x:.4f}<br>push %{customdata:.3g}<extra>%{text}</extra>", **LEFT,
        )  # fmt: skip
    spread = max(float(np.ptp(scores)), 0.02)
    largest = np.abs(push).max()
    for s, rank, p, mine in zip(scores, place, push, relevant, strict=True):
        if largest > 0 and abs(p) >= 0.004 * largest:
            right = (p > 0) == bool(mine)  # it points where the item should go
            end = s + 0.22 * spread * p / largest, rank
            arrow(figure, (s, rank), end, style.BLUE if right else style.VERMILLION, xref="x", yref="y")
    ends = [scores.min() - 0.3 * spread, scores.max() + 0.3 * spread]
    figure.update_xaxes(title_text="similarity to the query (cosine)", range=ends, **LEFT)
    if items is not None:
        twelve.lay(figure, items, scores, place, (0.1 * (ends[1] - ends[0]), 0.8), **LEFT)
    signs = [style.RIGHT if relevant[item] else style.WRONG for item in order]
    figure.update_yaxes(
        title_text="rank", range=[len(scores) + 0.8, 0.3], zeroline=False, tickvals=np.arange(1, len(order) + 1),
        ticktext=[f"{names[item]} {sign} {i}" for i, (item, sign) in enumerate(zip(order, signs, strict=True), 1)],
        **LEFT,
    )  # fmt: skip


def item_names(relevant: np.ndarray) -> list[str]:
    """What the items are called, in the order of the knob: some of the twelve, or P1 and N1 ... in long lists."""
    items = twelve.stand_ins(relevant)
    if items is not None:
        return [twelve.NAMES[item] for item in items]
    numbers = np.where(relevant, relevant.cumsum(), (~relevant).cumsum())
    return [f"{'P' if mine else 'N'}{number}" for mine, number in zip(relevant, numbers, strict=True)]
