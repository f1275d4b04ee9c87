"""000, figure 2: the two sigmoids, one on ranks and one on similarity gaps, beside the step that they replace."""

import numpy as np
import torch

from lab.core import style
from lab.figures import _lists
from lab.figures._base import Figure, Numbers, PlotlyFigure, curve
from lab.surrogates import Heaviside, Sigmoid


class TwoSigmoids(Figure):
    """Both surrogates of recall@k, each on its own axis, with the area between curve and step."""

    title = "Two sigmoids, two domains"
    source = "RS@k, figure 2 and eq. 4-5"
    tier = "instant"
    question = "Why can the two sigmoids not share one temperature?"

    tau1: float = _lists.TAU1
    tau2: float = _lists.TAU2

    def numbers(self) -> Numbers:
        k = self.knobs
        panes = {}
        for name, tau, reach in (("ranks", k.tau1, 10), ("gaps", k.tau2, 0.1)):
            x = np.union1d(np.linspace(-reach, reach, 601), [-1e-12, 0.0])
            at = torch.from_numpy(x)
            value = Sigmoid(tau).value(at).numpy()
            step = Heaviside().value(at).numpy()
            panes[name] = {
                "x": x,
                "value": value,
                "step": step,
                "area": float(np.trapezoid(np.abs(value - step), x)),
            }
        return panes

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            "shaded: where the sigmoid and the step disagree; less area counts better and pulls in a narrower band",
            panels=(
                "is the positive in the short-list? k minus rank",
                "does an item stand ahead? similarity gap",
            ),
            y="share that is counted",
        )
        for column, (name, unit) in enumerate(
            (("ranks", "k - rank (ranks)"), ("gaps", "similarity gap (cosine)")), 1
        ):
            pane = numbers[name]
            curve(
                figure,
                6,
                "step H",
                pane["x"],
                pane["step"],
                showlegend=column == 1,
                row=1,
                col=column,
            )
            curve(
                figure,
                column - 1,
                f"σ(τ{'₁₂'[column - 1]})",
                pane["x"],
                pane["value"],
                fill="tonexty",
                fillcolor="rgba(0,114,178,0.15)",
                row=1,
                col=column,
            )
            style.note(
                figure,
                f"area between them<br><b>{pane['area']:.3g}</b>",
                pane["x"].max() * 0.55,
                0.5,
                row=1,
                col=column,
            )
            figure.update_xaxes(title_text=unit, row=1, col=column)
        figure.update_yaxes(range=[-0.05, 1.08])
        style.legend_below(figure)
        return figure.update_layout(legend={"traceorder": "normal"})

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Left, a sigmoid of temperature {self.knobs.tau1:g} over ranks, {numbers['ranks']['area']:.3g} "
            f"away from the step in area; right, one of temperature {self.knobs.tau2:g} over similarity gaps, "
            f"{numbers['gaps']['area']:.3g} away."
        )
