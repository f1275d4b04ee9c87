"""004, figure 6: label noise, foreign images and few classes, loss by loss."""

from typing import Any, Literal

from lab import losses
from lab.core import style
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Knobs, Numbers, PlotlyFigure, knob
from lab.figures.neighbourhoods.train_test_paths import RECIPES

AXES = {
    "wrong labels": ((0.0, 0.1, 0.2, 0.4), "share of wrong training labels"),
    "foreign images": ((0.0, 0.1, 0.2, 0.4), "share of training images of no class"),
    "classes kept": ((6, 9, 12, 16), "training classes kept"),
}


MEASURED = {"wrong labels": ("contextual_noise", "wrong labels"), "classes kept": ("contextual_classes", "classes")}
"""Bundled study and axis of each damage that was measured."""


class NoiseRobustness(Figure):
    """Test r@1 of several losses as the training data get worse."""

    title = "How robust are losses to bad training data?"
    source = "Contextual, figure 6"
    tier = "toy_training"
    bound_together = ("data",)  # not every damage and axis of a toy was measured
    question = "Which loss loses least from clean to noisy?"
    moves = ("data", "damage")

    class Knobs(Knobs):
        """What goes wrong, and the toy; or the measured sweep."""

        data: Literal["toy", "Emoji-7"] = knob(
            "toy", "Show a toy example that trains now, or results measured on Emoji-7."
        )
        damage: Literal["wrong labels", "foreign images", "classes kept"] = knob(
            "wrong labels", "Kind of damage to the training data."
        )
        losses: tuple[str, ...] = knob(("contextual", "contrastive", "ROADMAP"), "Losses to train.")
        steps: int = knob(60, "Training steps.", ge=1, le=120)
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=3)

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return len(self.knobs.losses) * len(AXES[self.knobs.damage][0]) * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            return self._measured()
        unknown = set(k.losses) - set(RECIPES)
        if unknown:
            raise ValueError(f"NoiseRobustness: losses must be among {', '.join(RECIPES)}, got {', '.join(unknown)}.")
        settings = AXES[k.damage][0]
        made = {"wrong labels": "wrong_labels", "foreign images": "foreign", "classes kept": "classes"}[k.damage]

        def run(name: str, setting: Any, seed: int) -> float:
            toy = _toy.hidden_classes(noise=k.noise, seed=seed, **{made: setting})
            recipe, knobs = RECIPES[name]
            return _toy.train(losses.create(recipe, **knobs), toy, steps=k.steps, seed=seed).test[-1]["r@1"]

        curves = {n: _toy.sweep(lambda x, s, n=n: run(n, x, s), settings, k.seeds) for n in k.losses}
        note = f"mean and deviation over {k.seeds} seeds, {k.steps} steps"
        return {"settings": settings, "curves": curves, "axis": AXES[k.damage][1], "subtitle": note}

    def _measured(self) -> Numbers:
        damage = self.knobs.damage
        study, axis = _bundled.measured("NoiseRobustness", MEASURED, damage)
        places, curves = _bundled.curves(study, axis, lines="loss")
        words = AXES[damage][1] if damage == "wrong labels" else "share of the training classes kept"
        return {"settings": places, "curves": curves, "axis": words, "subtitle": _bundled.subtitle(study)}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = style.canvas(
            self.title,
            numbers["subtitle"],
            x=numbers["axis"],
            y="r@1 on unseen classes",
        )
        _toy.draw_sweep(figure, numbers["settings"], numbers["curves"])
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = "; ".join(f"{n} {mean[0]:.3f} to {mean[-1]:.3f}" for n, (mean, _) in numbers["curves"].items())
        ends = numbers["settings"][0], numbers["settings"][-1]
        return f"Test r@1 by {self.knobs.damage}, from {ends[0]:g} to {ends[1]:g}: {values}."
