"""000, figure 4 right: the batch size, for the recall surrogate with and without SiMix and for SmoothAP."""

from typing import Any, Literal

from lab import losses
from lab.core import style
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Knobs, Numbers, PlotlyFigure, knob


class BatchSizeSweep(Figure):
    """Test scores of three ranking losses by batch size, at an equal number of steps."""

    title = "Large batches for ranking losses"
    source = "RS@k, figure 4 right"
    tier = "toy_training"
    question = "Where does SiMix help: with small batches or with large ones?"
    moves = ("data",)

    class Knobs(Knobs):
        """The batches and the toy; or the measured sweep."""

        data: Literal["toy", "Emoji-7"] = knob(
            "toy", "Show a toy example that trains now, or results measured on Emoji-7."
        )
        classes: tuple[int, ...] = knob((2, 4, 8, 16), "Classes per batch, with four images each.", ge=2, le=24)
        simix: bool = knob(True, "Also train RS@k with SiMix.", source="RS@k, eq. 8")
        smooth_ap: bool = knob(True, "Also train SmoothAP.")
        steps: int = knob(40, "Training steps.", ge=1, le=100)
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=3)

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return (
            (1 + self.knobs.simix + self.knobs.smooth_ap)
            * len(self.knobs.classes)
            * self.knobs.seeds
            * self.knobs.steps
        )

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            places, curves = _bundled.curves("batch_size", "batch size", "r@1", lines="loss")
            left_out = {"RS@k with SiMix": not k.simix, "SmoothAP": not k.smooth_ap}
            curves = {name: curve for name, curve in curves.items() if not left_out.get(name)}
            return {"batch": places, "curves": curves, "subtitle": _bundled.subtitle("batch_size")}
        recipes: dict[str, tuple[str, dict[str, Any]]] = {"RS@k": ("recall_at_k", {})}
        if k.simix:
            recipes["RS@k with SiMix"] = ("recall_at_k", {"simix": True})
        if k.smooth_ap:
            recipes["SmoothAP"] = ("smooth_ap", {})

        def run(recipe: tuple[str, dict[str, Any]], count: float, seed: int) -> float:
            name, knobs = recipe
            toy = _toy.hidden_classes(classes=24, per_class=6, noise=k.noise, seed=seed)
            loss = losses.create(name, **knobs)
            return _toy.train(loss, toy, steps=k.steps, classes=int(count), seed=seed).test[-1]["r@1"]

        curves = {
            n: _toy.sweep(lambda c, s, r=recipe: run(r, c, s), k.classes, k.seeds) for n, recipe in recipes.items()
        }
        note = f"{k.steps} steps each, mean and deviation over {k.seeds} seeds"
        return {"batch": [4 * c for c in k.classes], "curves": curves, "subtitle": note}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = style.canvas(
            self.title,
            numbers["subtitle"],
            x="batch size (images, log scale)",
            y="r@1 on unseen classes",
        )
        _toy.draw_sweep(figure, numbers["batch"], numbers["curves"])
        figure.update_xaxes(type="log", tickvals=numbers["batch"])
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = "; ".join(f"{n} {mean[0]:.3f} to {mean[-1]:.3f}" for n, (mean, _) in numbers["curves"].items())
        return f"Test r@1 for batches of {numbers['batch'][0]} to {numbers['batch'][-1]} images: {values}."
