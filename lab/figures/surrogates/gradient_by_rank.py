"""000, figure 3: how hard a positive is pushed, by its rank, for every k and for their sum."""

import numpy as np
import torch

from lab.figures import _lists
from lab.figures._base import Figure, Numbers, PlotlyFigure, curve, knob
from lab.surrogates import Sigmoid


class GradientByRank(Figure):
    """Slope of the counting sigmoid against the rank of a positive."""

    title = "How hard a positive is pushed, by its rank"
    source = "RS@k, figure 3"
    tier = "instant"
    question = "Which ranks get no push for k = 1 alone, and what do more values of k buy?"

    k: tuple[int, ...] = knob(
        "Cut-offs k.", default=(1, 2, 4, 8, 16), ge=1, le=64, source="RS@k, eq. 7"
    )
    tau1: float = _lists.TAU1
    last: int = knob("Largest rank shown.", default=32, ge=4, le=256)

    def numbers(self) -> Numbers:
        ranks = np.linspace(1, self.knobs.last, 8 * self.knobs.last)
        at = torch.from_numpy(ranks)
        each = {
            k: Sigmoid(self.knobs.tau1).derivative(k - at).numpy()
            for k in dict.fromkeys(self.knobs.k)
        }
        return {"ranks": ranks, "each": each, "sum": np.sum(list(each.values()), axis=0)}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            "a positive at the height of a curve is pushed that hard to the top; far from every k it is hardly pushed",
            x="rank of the positive",
            y="|gradient| (1 / rank)",
        )
        for index, (k, values) in enumerate(numbers["each"].items()):
            curve(figure, index, f"k = {k}", numbers["ranks"], values, width=2)
        curve(figure, 6, "sum over k", numbers["ranks"], numbers["sum"], width=4, opacity=0.55)
        return figure.update_layout(hovermode="x unified")

    def alt(self, numbers: Numbers) -> str:
        peak = numbers["ranks"][numbers["sum"].argmax()]
        return (
            f"Gradient against rank for k in {', '.join(map(str, numbers['each']))}, tau1 {self.knobs.tau1:g}. Each "
            f"curve peaks at rank k; their sum peaks at rank {peak:.1f} and is {numbers['sum'][-1]:.2g} at rank "
            f"{self.knobs.last}."
        )
