"""001, section 3.1: why SupAP lets no gradient through rank+."""

import numpy as np

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, arrow, knob


class RankPlus(Figure):
    """The precision of one positive as a function of the positives and the negatives ahead of it."""

    title = "Why the gradient of rank⁺ is dropped"
    source = "ROADMAP, section 3.1"
    tier = "instant"
    question = (
        "Raising rank⁺ means moving a positive down the list. What does that do to its precision?"
    )

    rank_plus: int = knob(
        "Rank of the positive among the positives.", default=3, ge=1, le=30, unit="ranks"
    )
    rank_minus: int = knob("Negatives ranked before it.", default=5, ge=0, le=30, unit="ranks")

    def numbers(self) -> Numbers:
        plus = float(self.knobs.rank_plus)
        minus = float(self.knobs.rank_minus)
        p = np.arange(1, 31)
        m = np.arange(0, 31)
        total = plus + minus
        return {
            "plus": p,
            "minus": m,
            "precision": p[None, :] / (p[None, :] + m[:, None]),
            "here": plus / total,
            "by_plus": minus / total**2,
            "by_minus": -plus / total**2,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        figure = self.canvas(
            f"precision {numbers['here']:.3f} · ∂/∂rank⁺ = <b>{numbers['by_plus']:+.4f}</b> (never negative: ascent "
            f"sends the positive down) · ∂/∂rank⁻ = <b>{numbers['by_minus']:+.4f}</b>",
            x="rank⁺, place among the positives",
            y="rank⁻, negatives ahead",
            height=520,
        )
        figure.add_heatmap(
            x=numbers["plus"],
            y=numbers["minus"],
            z=numbers["precision"],
            colorscale=style.SEQUENTIAL,
            zmin=0,
            zmax=1,
            colorbar={"title": "precision"},
            hovertemplate="rank⁺ %{x}, rank⁻ %{y}<br>precision %{z:.3f}<extra></extra>",
        )
        arrows = (
            (
                6,
                0,
                style.VERMILLION,
                f"{style.WRONG} more rank⁺ raises precision,<br>by pushing the positive down",
            ),
            (0, -6, style.BLUE, f"{style.RIGHT} fewer negatives ahead<br>raises precision"),
        )
        for dx, dy, colour, text in arrows:
            if (dx and numbers["by_plus"] == 0) or (dy and k.rank_minus == 0):
                continue
            x = min(30, k.rank_plus + dx)
            y = max(0, k.rank_minus + dy)
            arrow(figure, (k.rank_plus, k.rank_minus), (x, y), colour, width=4)
            style.note(
                figure,
                text,
                x,
                y,
                xanchor="left" if dx else "center",
                yanchor="bottom" if dx else "top",
                xshift=6,
            )
        figure.add_scatter(
            x=[k.rank_plus],
            y=[k.rank_minus],
            mode="markers",
            showlegend=False,
            marker={
                "size": 16,
                "color": "white",
                "symbol": "star",
                "line": {"width": 2, "color": style.BLACK},
            },
        )
        return figure

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Precision of a positive over rank plus and rank minus. At rank plus {self.knobs.rank_plus} with "
            f"{self.knobs.rank_minus} negatives ahead it is {numbers['here']:.3f}; its derivative by rank plus is "
            f"{numbers['by_plus']:+.4f}, never negative, and by rank minus {numbers['by_minus']:+.4f}."
        )
