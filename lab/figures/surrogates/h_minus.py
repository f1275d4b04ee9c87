"""001, figure 3: H+, H- and the sigmoid, value and slope, as printed and as released."""

import math
from typing import Literal

import numpy as np
import torch

from lab import surrogates
from lab.core import style
from lab.figures._base import (
    LEFT,
    RHO,
    Figure,
    Numbers,
    PlotlyFigure,
    curve,
    knob,
    panel,
    temperature,
)
from lab.surrogates import HPlus, Sigmoid, Surrogate

OFFSETS = {"paper": (None, 0.5), "released": (1.44, 0.5), "released, iNaturalist": (1.0, 0.0)}


class HMinus(Figure):
    """H- in its three published versions beside H+ and the sigmoid."""

    title = "H⁻: a sigmoid on the right side, a ramp on the wrong one"
    source = "ROADMAP, figure 3 and eq. 4"
    tier = "instant"
    question = "How large is the slope just before δ, and just after? What does the released offset do there?"

    tau: float = temperature("Temperature.", "ROADMAP, eq. 4", most=0.2)
    rho: float = RHO
    delta: float = knob(
        "Gap at which the linear part begins (delta).",
        default=0.05,
        ge=0,
        le=0.2,
        unit="cosine",
        source="ROADMAP, eq. 4",
    )
    offset: Literal["paper", "released", "released, iNaturalist"] = knob(
        "Value after delta: continuous as in eq. 4, or the constants of the released configurations.",
        default="paper",
    )
    lift_ties: bool = knob(
        "Count a tie as 1, so that the bound also holds at ties; otherwise as 0.5, as the released code does.",
        default=False,
    )
    compare: bool = knob("Also draw H+ and the sigmoid.", default=True)
    reach: float = knob(
        "Half the width of the horizontal axis.",
        default=0.1,
        ge=0.01,
        le=0.5,
        scale="log",
        unit="cosine",
    )

    def numbers(self) -> Numbers:
        k = self.knobs
        offset, start = OFFSETS[k.offset]
        h_minus = surrogates.HMinus(k.tau, k.rho, k.delta, offset, start, k.lift_ties)
        after = math.nextafter(k.delta, 2)
        special = [-1e-9, 0.0, 1e-9, k.delta, after]
        gaps = np.union1d(
            np.linspace(-k.reach, k.reach, 801), [x for x in special if abs(x) <= k.reach]
        )
        at = torch.from_numpy(gaps)
        curves: dict[str, Surrogate] = {"H⁻": h_minus}
        if k.compare:
            curves |= {"H⁺ = step": HPlus(), "sigmoid": Sigmoid(k.tau)}
        ends = torch.tensor([k.delta, after], dtype=torch.float64)
        values = h_minus.value(ends).tolist()
        slopes = h_minus.derivative(ends).tolist()
        return {
            "gaps": gaps,
            "curves": {
                n: (c.value(at).numpy(), c.derivative(at).numpy()) for n, c in curves.items()
            },
            "slope_before": slopes[0],
            "slope_after": slopes[1],
            "jump": values[1] - values[0],
            "bound": h_minus.bound,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        holds = numbers["bound"] == "holds"
        figure = self.canvas(
            f"at δ the slope goes from <b>{numbers['slope_before']:.3g}</b> to <b>{numbers['slope_after']:.3g}</b>, "
            f"the value jumps by <b>{numbers['jump']:+.3f}</b> · {style.badge(holds, 'bound ' + numbers['bound'])}",
            panels=("value", "derivative"),
            x="how far the negative is ahead (cosine)",
            y=("negatives counted", "slope (1 / cosine)"),
        )
        for index, (name, (value, slope)) in enumerate(numbers["curves"].items()):
            for column, y in ((1, value), (2, slope)):
                curve(figure, (1, 6, 2)[index], name, numbers["gaps"], y, **panel(column, name))
        if k.delta <= k.reach:
            figure.add_vline(
                x=k.delta,
                line={"dash": "dot", "color": style.GREY},
                annotation_text="δ",
                annotation_position="top left",
            )
        figure.update_yaxes(range=[-0.08, 2.2], **LEFT)
        style.legend_below(figure)
        return figure.update_layout(hovermode="x unified")

    def alt(self, numbers: Numbers) -> str:
        return (
            f"H minus ({self.knobs.offset}) against the gap. Its slope is {numbers['slope_before']:.3g} just before "
            f"delta and {numbers['slope_after']:.3g} after it, the value jumps by {numbers['jump']:+.3f}; as an upper "
            f"bound of the step it {numbers['bound']}."
        )
