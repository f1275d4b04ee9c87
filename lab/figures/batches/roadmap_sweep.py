"""001, figures 4a to 4c: the weight of calibration, the slope rho, and the margin alpha - beta, on the toy."""

from typing import Literal

from lab import losses
from lab.core import style
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Knobs, Numbers, PlotlyFigure, knob

MEASURED = {
    "lam": ("roadmap_weight", "lambda"),
    "rho": ("roadmap_slope", "rho"),
    "margin": ("roadmap_margin", "margin"),
}
"""Bundled study and axis of each knob."""

SETTINGS = {
    "lam": ((0.0, 0.1, 0.5, 0.9, 1.0), "weight of calibration λ", "linear"),
    "rho": ((0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0), "slope ρ of H⁻ beyond δ (1 / cosine)", "symlog"),
    "margin": ((0.1, 0.2, 0.3, 0.5, 0.7), "margin α - β (cosine)", "linear"),
}


class RoadmapSweep(Figure):
    """Test scores of ROADMAP over one of its knobs."""

    title = "How sensitive is ROADMAP to its settings?"
    source = "ROADMAP, figure 4"
    tier = "toy_training"
    question = "What do the two ends of the λ axis train with?"
    moves = ("data", "what")

    class Knobs(Knobs):
        """Which knob to sweep, and the toy; or the measured sweep."""

        data: Literal["toy", "Emoji-7"] = knob(
            "toy", "Show a toy example that trains now, or results measured on Emoji-7."
        )
        what: Literal["lam", "rho", "margin"] = knob("lam", "Setting on the horizontal axis.")
        classes: int = knob(4, "Classes per batch, with four images each.", ge=2, le=12)
        steps: int = knob(40, "Training steps.", ge=1, le=100)
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=3)

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return len(SETTINGS[self.knobs.what][0]) * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            study, axis = _bundled.measured("RoadmapSweep", MEASURED, k.what)
            places, curves = _bundled.curves(study, axis, "MAP@R")
            return {"settings": places, "curves": {"ROADMAP": curves[study]}, "subtitle": _bundled.subtitle(study)}

        def run(setting: float, seed: int) -> float:
            knobs = {"beta": 0.9 - setting} if k.what == "margin" else {k.what: setting}
            toy = _toy.hidden_classes(noise=k.noise, seed=seed)
            loss = losses.create("roadmap", **knobs)
            return _toy.train(loss, toy, steps=k.steps, classes=k.classes, seed=seed).test[-1]["MAP@R"]

        settings = SETTINGS[k.what][0]
        note = f"{k.steps} steps, mean and deviation over {k.seeds} seeds"
        return {"settings": settings, "curves": {"ROADMAP": _toy.sweep(run, settings, k.seeds)}, "subtitle": note}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        _, words, scale = SETTINGS[self.knobs.what]
        x = [f"{s:g}" for s in numbers["settings"]] if scale == "symlog" else numbers["settings"]
        figure = style.canvas(
            self.title,
            numbers["subtitle"],
            x=words,
            y="MAP@R on unseen classes",
        )
        _toy.draw_sweep(figure, x, numbers["curves"])
        if scale == "symlog":
            figure.update_xaxes(type="category")
        figure.update_layout(showlegend=False)
        return figure

    def alt(self, numbers: Numbers) -> str:
        mean = numbers["curves"]["ROADMAP"][0]
        values = ", ".join(f"{m:.3f} at {s:g}" for m, s in zip(mean, numbers["settings"], strict=True))
        return f"Test MAP@R of ROADMAP over {self.knobs.what}: {values}."
