"""All surrogates for the step on one axis: the figure that none of the papers draws."""

import math

import numpy as np
import torch

from lab import surrogates
from lab.core import style
from lab.figures._base import (
    BESIDE,
    DELTA,
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


class Surrogates(Figure):
    """Value and derivative of the step, the sigmoid, H-, theta, the soft bin and the linear tail, with bound badges."""

    title = "Surrogates of the step function"
    source = "RS@k, eq. 4; ROADMAP, eq. 4; Contextual, eq. 20-21, SoftBin-AP"
    tier = "instant"
    question = "Which surrogates still pull on a badly ranked item, and which of them may undercount a rank?"

    tau: float = temperature("Temperature of sigmoid, H- and linear tail.", "RS@k, eq. 4")
    rho: float = RHO
    delta: float = DELTA
    released: bool = knob(
        "Draw H- with the released offset 1.44 instead of the continuous one.", default=False
    )
    alpha: float = knob(
        "Backward slope of theta, on squared distances; per cosine it is twice that.",
        default=10.0,
        ge=0.1,
        le=100,
        scale="log",
        unit="1/squared distance",
        source="Contextual, eq. 1",
    )
    bins: int = knob("Soft bins on [-1, 1].", default=20, ge=2, le=200, source="SoftBin-AP")
    phase: float = knob(
        "Where the positive lies between two bin centres; 0 is on one.", default=0.0, ge=0, lt=1
    )
    reach: float = knob(
        "Half the width of the horizontal axis.",
        default=0.2,
        ge=0.01,
        le=2,
        scale="log",
        unit="cosine",
    )

    def surrogates(self) -> dict[str, surrogates.Surrogate]:
        """Return the surrogates by name."""
        k = self.knobs
        if k.released:
            h_minus_name = "H⁻ (released)"
            h_minus = surrogates.HMinus(k.tau, k.rho, k.delta, offset=1.44)
        else:
            h_minus_name = "H⁻"
            h_minus = surrogates.HMinus(k.tau, k.rho, k.delta, offset=None)
        return {
            "step H": surrogates.Heaviside(),
            "sigmoid": surrogates.Sigmoid(k.tau),
            h_minus_name: h_minus,
            # theta acts on D = 2 - 2s, so a gap of one cosine is a gap of two for theta.
            "constant gradient θ": surrogates.ConstantGradient(2 * k.alpha),
            "soft bin": surrogates.SoftBins(k.bins, phase=k.phase),
            "linear tail": surrogates.LinearTail(k.tau),
        }

    def numbers(self) -> Numbers:
        """Compute value, derivative, bound and dead_beyond of each surrogate at 801 gaps and around kinks."""
        k = self.knobs
        kinks = [0.0, -1e-9, 1e-9, k.delta, math.nextafter(k.delta, 2)]
        gaps = np.union1d(
            np.linspace(-k.reach, k.reach, 801), [kink for kink in kinks if abs(kink) <= k.reach]
        )
        gap_tensor = torch.from_numpy(gaps)
        curves = {}
        for name, surrogate in self.surrogates().items():
            curves[name] = {
                "value": surrogate.value(gap_tensor).numpy(),
                "derivative": surrogate.derivative(gap_tensor).numpy(),
                "bound": surrogate.bound,
                "alive": surrogate.dead_beyond,
            }
        return {"gaps": gaps, "curves": curves}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            "gap = similarity of the other item minus that of the positive; right of zero the other item is ahead",
            height=860,
            panels=(
                "value: how much an item counts in the rank",
                "derivative: how hard it is pushed",
                "",
            ),
            rows=2,
            cols=2,
            specs=[[{"type": "xy"}, {"type": "xy"}], [{"type": "table", "colspan": 2}, None]],
            row_heights=[0.62, 0.38],
            vertical_spacing=0.2,
        )
        gaps = numbers["gaps"]
        for index, (name, values) in enumerate(numbers["curves"].items()):
            style_index = index - 1
            width: float = 2.5
            if index == 0:  # the step
                style_index = 6
                width = 3
            for column, key in ((1, "value"), (2, "derivative")):
                options = panel(column, name)
                curve(
                    figure,
                    style_index,
                    name,
                    gaps,
                    values[key],
                    width,
                    hovertemplate="%{y:.3g}",
                    **options,
                )
        figure.add_vline(x=0, line={"color": style.GREY, "width": 1}, row=1)
        steepest = max(values["derivative"].max() for values in numbers["curves"].values())
        figure.update_xaxes(title_text="similarity gap (cosine)", row=1)
        figure.update_yaxes(title_text="items counted", range=[-0.1, 2.6], **LEFT)
        figure.update_yaxes(
            title_text="slope (1 / cosine)", range=[-0.04 * steepest, 1.06 * steepest], **BESIDE
        )
        self._add_table(figure, numbers["curves"], at_tie=int(np.searchsorted(gaps, 0.0)))
        return figure.update_layout(
            hovermode="x unified",
            legend={
                "orientation": "h",
                "y": 0.345,
                "yanchor": "bottom",
                "x": 0.5,
                "xanchor": "center",
            },
        )

    @staticmethod
    def _add_table(figure: PlotlyFigure, curves: dict[str, Numbers], at_tie: int) -> None:
        """Add the table of bound, range of the gradient, and value and slope at a tie, of each surrogate."""
        words = {
            "holds": f"{style.RIGHT} holds",
            "fails at ties": f"{style.WRONG} fails at ties",
            "fails": f"{style.WRONG} fails",
        }
        bounds = [words[curve["bound"]] for curve in curves.values()]
        colours = [style.BLUE if b.startswith(style.RIGHT) else style.VERMILLION for b in bounds]
        figure.add_table(
            row=2,
            col=1,
            columnwidth=[1.3, 1, 1.5, 1, 1],
            header={
                "values": [
                    "surrogate",
                    "at least the step?",
                    "gradient alive for gaps",
                    "value at tie",
                    "slope there",
                ],
                "align": "left",
                "font": {"size": 13},
                "fill_color": "#EEE",
                "line_color": "#DDD",
            },
            cells={
                "values": [
                    list(curves),
                    bounds,
                    [alive_words(curve["alive"]) for curve in curves.values()],
                    [f"{curve['value'][at_tie]:.3g}" for curve in curves.values()],
                    [f"{curve['derivative'][at_tie]:.3g}" for curve in curves.values()],
                ],
                "align": "left",
                "height": 26,
                "font": {"size": 13, "color": ["#222", colours, "#222", "#222", "#222"]},
                "fill_color": "white",
                "line_color": "#DDD",
            },
        )

    def alt(self, numbers: Numbers) -> str:
        parts = [
            f"{name}: bound {curve['bound']}, gradient alive for gaps {alive_words(curve['alive'])}"
            for name, curve in numbers["curves"].items()
        ]
        return f"Value and derivative of {len(parts)} surrogates for the step, by similarity gap. {'; '.join(parts)}."


def alive_words(interval: tuple[float, float]) -> str:
    """Say in words for which gaps a gradient is alive."""
    low, high = interval
    if low == high:
        return "nowhere"
    if math.isinf(low) and math.isinf(high):
        return "everywhere"
    if math.isinf(high):
        return f"from {low:.3g} up"
    return f"{low:.3g} to {high:.3g}"
