"""003, eq. 7 and 8: find the misprints. The gradient of the repeller as printed against what autograd says."""

import numpy as np
import torch

from lab.core import style
from lab.figures._base import DOTTED, Figure, Numbers, PlotlyFigure, curve, knob
from lab.losses.class_anchor_margin import repulsion


class AnchorTypo(Figure):
    """Two anchors at distance d: the push by autograd, by eq. 8, and the condition of eq. 7."""

    title = "Two misprints in one gradient"
    source = "CAM, eq. 2, 7, 8"
    tier = "instant"
    question = "For which d is the push zero, what does eq. 7 claim, and which factor does eq. 8 miss?"

    m: float = knob("Radius around each anchor.", default=2.0, ge=0.1, le=5, source="CAM, eq. 2")
    d: float = knob("Distance of the two anchors.", default=3.0, ge=0.1, le=12)

    def numbers(self) -> Numbers:
        m = self.knobs.m
        distances = np.union1d(np.linspace(0.02, 3.2 * m, 240), [2 * m, self.knobs.d])

        def push(d: float) -> float:
            anchors = torch.tensor([[0.0, 0.0], [d, 0.0]], dtype=torch.float64, requires_grad=True)
            (grad,) = torch.autograd.grad(repulsion(anchors, m, ordered=True), anchors)
            return float(-grad[1, 0])

        printed = np.where(distances < 2 * m, 2 * m - distances, 0.0)
        here = self.knobs.d
        return {
            "distances": distances,
            "autograd": np.array([push(d) for d in distances]),
            "printed": printed,
            "here": (push(here), max(0.0, 2 * m - here)),
            "claimed_zero": 2 * m - here > 0,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        truth, printed = numbers["here"]
        right = numbers["claimed_zero"] == (truth == 0)
        half = style.badge(truth == printed, "equal" if truth == printed else "half")
        claim = "is zero" if numbers["claimed_zero"] else "is not zero"
        figure = self.canvas(
            f"d = {k.d:g}: eq. 7 says the push {claim} {style.badge(right, 'right' if right else 'wrong')} · autograd "
            f"{truth:.3f}, eq. 8 {printed:.3f} {half}",
            x="distance d of the two anchors",
            y="push on one anchor, away from the other",
        )
        x = numbers["distances"]
        for index, (name, y) in enumerate(
            (("autograd of eq. 2", numbers["autograd"]), ("eq. 8 as printed", numbers["printed"]))
        ):
            curve(figure, index, name, x, y, width=3)
        figure.add_vline(x=2 * k.m, line=DOTTED, annotation_text="2m")
        figure.add_vrect(
            x0=0, x1=2 * k.m, fillcolor=style.VERMILLION, opacity=0.07, line_width=0,
            annotation_text=f"{style.WRONG} eq. 7 calls the push zero here", annotation_position="top left",
        )  # fmt: skip
        figure.add_scatter(
            x=[k.d, k.d], y=[truth, printed], mode="markers", name="here", marker={**style.marker(6, 13)}
        )
        return figure

    def alt(self, numbers: Numbers) -> str:
        truth, printed = numbers["here"]
        return (
            f"Push of two anchors against their distance. It is zero from 2m = {2 * self.knobs.m:g} on; equation 7 "
            f"claims zero below. At d = {self.knobs.d:g} autograd gives {truth:.3f} and equation 8, which counts each "
            f"pair once, {printed:.3f}."
        )
