"""003, figures 4 to 6: class anchors, cross-entropy and contrastive loss by width, by time and by shots."""

from typing import Literal

import torch

from lab import losses
from lab.core import style
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Knobs, Numbers, PlotlyFigure, knob

AXES = {
    "dim": ((2, 4, 8, 16, 32), "width of the embeddings (log scale)"),
    "steps": ((5, 15, 30, 60, 120), "training steps (log scale)"),
    "shots": ((2, 4, 8, 16), "training images a class (log scale)"),
}


MEASURED = {"dim": ("anchor_widths", "width"), "steps": ("anchor_epochs", "steps"), "shots": ("anchor_shots", "shots")}
"""Bundled study and axis of each."""


class AnchorComparison(Figure):
    """mAP of three losses on unseen points of the training classes, over one axis."""

    title = "Class anchors by width, time and images a class"
    source = "CAM, figures 4, 5 and 6"
    tier = "toy_training"
    bound_together = ("data",)  # not every damage and axis of a toy was measured
    question = "Which loss needs the fewest dimensions, the fewest steps, the fewest images?"
    moves = ("data", "axis")

    class Knobs(Knobs):
        """The axis and the toy; or the measured sweep."""

        data: Literal["toy", "Emoji-7"] = knob(
            "toy", "Show a toy example that trains now, or results measured on Emoji-7."
        )
        axis: Literal["dim", "steps", "shots"] = knob("dim", "Setting to vary.")
        classes: int = knob(8, "Number of classes.", ge=2, le=12)
        steps: int = knob(60, "Training steps, unless they are varied.", ge=1, le=150)
        dim: int = knob(8, "Width of the embeddings, unless it is varied.", ge=2, le=64)
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=3)

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        k, settings = self.knobs, AXES[self.knobs.axis][0]
        return 3 * k.seeds * (sum(settings) if k.axis == "steps" else len(settings) * k.steps)

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            study, axis = _bundled.measured("AnchorComparison", MEASURED, k.axis)
            places, curves = _bundled.curves(study, axis, "mAP", lines="loss")
            return {"settings": places, "curves": curves, "subtitle": _bundled.subtitle(study)}
        settings = AXES[k.axis][0]

        def run(name: str, setting: float, seed: int) -> float:
            size = {"dim": k.dim, "steps": k.steps, "shots": 16} | {k.axis: int(setting)}
            toy = _toy.hidden_classes(k.classes, size["shots"], noise=k.noise, shared=True, seed=seed)
            owned = {"num_classes": k.classes, "dim": size["dim"]}
            knobs = {
                "cross_entropy": owned,
                "contrastive": {},
                "class_anchor_margin": {**owned, "init": "base" if k.classes <= size["dim"] else "random"},
            }[name]
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                loss = losses.create(name, **knobs)
            trace = _toy.train(
                loss, toy, dim=size["dim"], steps=size["steps"], per_class=min(4, size["shots"]),
                normalise=name == "contrastive", seed=seed,
            )  # fmt: skip
            return trace.test[-1]["AP"]

        names = {"cross-entropy": "cross_entropy", "contrastive": "contrastive", "class anchors": "class_anchor_margin"}
        curves = {
            n: _toy.sweep(lambda x, s, name=name: run(name, x, s), settings, k.seeds) for n, name in names.items()
        }
        note = f"mean and deviation over {k.seeds} seeds, {k.classes} classes"
        return {"settings": settings, "curves": curves, "subtitle": note}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = style.canvas(
            self.title,
            numbers["subtitle"],
            x=AXES[self.knobs.axis][1],
            y=f"mAP on unseen {'images' if self.knobs.data == 'Emoji-7' else 'points'}",
        )
        _toy.draw_sweep(figure, numbers["settings"], numbers["curves"])
        figure.update_xaxes(type="log", tickvals=numbers["settings"])
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = "; ".join(f"{n} {mean[0]:.3f} to {mean[-1]:.3f}" for n, (mean, _) in numbers["curves"].items())
        ends = numbers["settings"][0], numbers["settings"][-1]
        axis = AXES[self.knobs.axis][1].removesuffix(" (log scale)")
        return f"mAP by {axis}, from {ends[0]} to {ends[1]}: {values}."
