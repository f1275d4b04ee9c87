"""001, figures 4a to 4c: the weight of calibration, the slope rho, and the margin alpha - beta, on the toy."""

from typing import Literal

from lab import losses
from lab.figures import _toy
from lab.figures._base import Numbers, PlotlyFigure, knob
from lab.figures._toy_sweep import Axis, Data, ToySweep, data_knob


class RoadmapSweep(ToySweep):
    """Test scores of ROADMAP over one of its knobs."""

    title = "How sensitive is ROADMAP to its settings?"
    source = "ROADMAP, figure 4"
    question = "What do the two ends of the λ axis train with?"
    moves = ("data", "what")
    chosen_by = "what"
    compares = False
    note = "{steps} steps, mean and deviation over {seeds} seeds"
    axes = {
        "lam": Axis(
            "weight of calibration λ",
            (0.0, 0.1, 0.5, 0.9, 1.0),
            ("roadmap_weight", "lambda", "MAP@R"),
        ),
        "rho": Axis(
            "slope ρ of H⁻ beyond δ (1 / cosine)",
            (0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0),
            ("roadmap_slope", "rho", "MAP@R"),
            "category",
        ),
        "margin": Axis(
            "margin α - β (cosine)",
            (0.1, 0.2, 0.3, 0.5, 0.7),
            ("roadmap_margin", "margin", "MAP@R"),
        ),
    }

    data: Data = data_knob()
    what: Literal["lam", "rho", "margin"] = knob("Setting on the horizontal axis.", default="lam")
    classes: int = knob("Classes per batch, with four images each.", default=4, ge=2, le=12)
    steps: int = knob("Training steps.", default=40, ge=1, le=100)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def lines(self) -> dict[str, tuple[str, str]]:
        return {"ROADMAP": ("roadmap", "MAP@R")}

    def toy(self, setting: float, seed: int) -> _toy.Toy:
        return _toy.hidden_classes(noise=self.knobs.noise, seed=seed)

    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        k = self.knobs
        toy = self.toy(setting, seed)
        made = losses.create(
            loss, **({"beta": 0.9 - setting} if k.what == "margin" else {k.what: setting})
        )
        return _toy.train(made, toy, steps=k.steps, classes=k.classes, seed=seed).test[-1]

    def score_title(self) -> str:
        return "MAP@R on unseen classes"

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        return super().draw(numbers).update_layout(showlegend=True)

    def alt(self, numbers: Numbers) -> str:
        (mean, _) = numbers["curves"]["ROADMAP"]
        settings = numbers["settings"]
        values = ", ".join(f"{m:.3f} at {s:g}" for m, s in zip(mean, settings, strict=True))
        (without,) = (f"{name}, {line[0]:.3f}" for name, line in numbers["without"].items())
        return f"Test MAP@R of ROADMAP by {self.axis.title}: {values}; {without}."
