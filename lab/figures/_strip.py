"""Draw a ranked list: one row per item, best first, with an arrow that shows where descent moves its score."""

import numpy as np

from lab.core import style
from lab.figures import twelve
from lab.figures._base import LEFT, PlotlyFigure, arrow


def draw_strip(
    figure: PlotlyFigure, scores: np.ndarray, relevant: np.ndarray, push: np.ndarray
) -> None:
    """Draw the list in the first panel.

    Args:
        scores: [g], similarities to the query.
        relevant: bool [g].
        push: [g], minus the gradient of the loss with respect to each score; arrows are scaled to the largest.
    """
    order = np.argsort(-scores, kind="stable")
    rank_of = np.empty_like(order)
    rank_of[order] = np.arange(1, len(order) + 1)
    names = item_names(relevant)
    items = twelve.stand_ins(relevant)

    # A mark for each item; a ring where its picture is drawn inside.
    for index, (label, mask) in enumerate(
        (("same label", relevant), ("different label", ~relevant))
    ):
        marker = {"line": {"width": 2}, **style.marker(index, 13)}
        if items is not None:
            marker["symbol"] = ("circle-open", "diamond-open")[index]
            marker["size"] = 26
        figure.add_scatter(
            x=scores[mask],
            y=rank_of[mask],
            mode="markers",
            name=label,
            legendgroup=label,
            text=[names[item] for item in np.flatnonzero(mask)],
            customdata=push[mask],
            marker=marker,
            hovertemplate="rank %{y}<br>similarity %{x:.4f}<br>push %{customdata:.3g}<extra>%{text}</extra>",
            **LEFT,
        )

    # An arrow for each item that descent moves noticeably, coloured by whether it is the right direction.
    spread = max(float(np.ptp(scores)), 0.02)
    largest = np.abs(push).max()
    for score, rank, item_push, is_relevant in zip(scores, rank_of, push, relevant, strict=True):
        if largest > 0 and abs(item_push) >= 0.004 * largest:
            right = (item_push > 0) == bool(is_relevant)
            end = (score + 0.22 * spread * item_push / largest, rank)
            arrow(
                figure,
                (score, rank),
                end,
                style.BLUE if right else style.VERMILLION,
                xref="x",
                yref="y",
            )

    ends = [scores.min() - 0.3 * spread, scores.max() + 0.3 * spread]
    figure.update_xaxes(title_text="similarity to the query (cosine)", range=ends, **LEFT)
    if items is not None:
        twelve.lay(figure, items, scores, rank_of, (0.1 * (ends[1] - ends[0]), 0.8), **LEFT)
    row_names = []
    for rank, item in enumerate(order, start=1):
        sign = style.RIGHT if relevant[item] else style.WRONG
        row_names.append(f"{names[item]} {sign} {rank}")
    figure.update_yaxes(
        title_text="rank",
        range=[len(scores) + 0.8, 0.3],
        zeroline=False,
        tickvals=np.arange(1, len(order) + 1),
        ticktext=row_names,
        **LEFT,
    )


def item_names(relevant: np.ndarray) -> list[str]:
    """Return the names of the items in the order of the knob: names of the twelve, or P1, N1, ... in long lists."""
    items = twelve.stand_ins(relevant)
    if items is not None:
        return [twelve.NAMES[item] for item in items]
    names = []
    numbers = np.where(relevant, relevant.cumsum(), (~relevant).cumsum())
    for is_relevant, number in zip(relevant, numbers, strict=True):
        names.append(f"P{number}" if is_relevant else f"N{number}")
    return names
