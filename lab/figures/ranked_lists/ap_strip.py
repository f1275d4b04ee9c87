"""001, figure 1a: AP, SmoothAP and SupAP on one list, with the push of each on every score."""

from typing import ClassVar

import numpy as np
from torch import Tensor

from lab import losses
from lab.core import style
from lab.figures import _lists
from lab.figures._base import (
    BESIDE,
    DELTA,
    DOTTED,
    RHO,
    Figure,
    Numbers,
    PlotlyFigure,
    knob,
    temperature,
)
from lab.figures._strip import draw_strip
from lab.inspect import list_gradients
from lab.surrogates import Heaviside, HMinus, HPlus, Sigmoid, Surrogate


class ApStrip(Figure):
    """One query, a handful of scores, the true AP loss and its two surrogates."""

    title = "AP and its surrogates on one list"
    source = "ROADMAP, figure 1a and eq. 3-5"
    tier = "instant"
    drag = ("scores", "pattern")
    in_page: ClassVar = {"loss": ("sup_ap", "smooth_ap")}
    question = "Find scores for which SmoothAP pushes a positive down. Can SupAP be made to?"

    scores: tuple[float, ...] = _lists.SCORES
    pattern: str = _lists.PATTERN
    loss: str = knob(
        "Loss whose gradient the arrows show, also one of your own.",
        default="sup_ap",
        catalog="lab.inspect.gradients.lists",
    )
    tau: float = temperature(
        "Temperature of SupAP and SmoothAP; any other loss is drawn at its own defaults.",
        "ROADMAP, eq. 4",
    )
    rho: float = RHO
    delta: float = DELTA

    def numbers(self) -> Numbers:
        k = self.knobs
        scores, relevant = _lists.read(k.scores, k.pattern)
        steps = {
            "sup_ap": (HPlus(), HMinus(k.tau, k.rho, k.delta)),
            "smooth_ap": (Sigmoid(k.tau), Sigmoid(k.tau)),
            "ap": (Heaviside(), Heaviside()),
        }
        values = {}
        push = {}
        for name, (plus, minus) in steps.items():

            def loss(scores: Tensor, plus: Surrogate = plus, minus: Surrogate = minus) -> Tensor:
                return 1 - _lists.smooth_precision(scores, relevant, plus, minus)

            values[name] = loss(scores).item()
            push[name] = -_lists.gradient(loss, scores)
        if k.loss not in push:
            push[k.loss] = -list_gradients(losses.create(k.loss), scores, relevant).gradients
        return {
            "scores": scores.numpy(),
            "relevant": relevant.numpy(),
            "losses": values,
            "push": push,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        values = numbers["losses"]
        chosen = self.knobs.loss
        name = {chosen: chosen} | {"ap": "1 - AP", "smooth_ap": "SmoothAP", "sup_ap": "SupAP"}
        badges = []
        colours = [style.BLACK]
        patterns = [""]
        for loss in ("smooth_ap", "sup_ap"):
            bounds = values[loss] >= values["ap"] - 1e-12
            verb = "bounds" if bounds else "is below"
            badges.append(style.badge(bounds, f"{name[loss]} {verb} 1 - AP here"))
            colours.append(style.BLUE if bounds else style.VERMILLION)
            patterns.append("" if bounds else "/")
        figure = self.canvas(
            " · ".join(badges),
            panels=(f"the list, and the push of {name[chosen]}", "loss of the list"),
            height=560,
            column_widths=[0.66, 0.34],
            y=("", "loss"),
            x=("", "hatched: below 1 - AP"),
        )
        draw_strip(figure, numbers["scores"], numbers["relevant"], numbers["push"][chosen])
        order = ["ap", "smooth_ap", "sup_ap"]
        figure.add_bar(
            x=[name[loss] for loss in order],
            y=[values[loss] for loss in order],
            showlegend=False,
            marker={"color": colours, "pattern": {"shape": patterns}},
            text=[f"{values[loss]:.3f}" for loss in order],
            textposition="outside",
            **BESIDE,
        )
        figure.add_hline(y=values["ap"], line=DOTTED, **BESIDE)
        figure.update_yaxes(range=[0, 1.15], **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = numbers["losses"]
        push = numbers["push"][self.knobs.loss]
        wrong = int(np.sum(np.where(numbers["relevant"], push < -1e-9, push > 1e-9)))
        return (
            f"A list of {len(push)} items. 1 - AP is {values['ap']:.3f}, SmoothAP {values['smooth_ap']:.3f}, SupAP "
            f"{values['sup_ap']:.3f}; {self.knobs.loss} pushes {wrong} items the wrong way."
        )
