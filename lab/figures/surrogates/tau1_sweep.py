"""000, figure 4 left: the temperature on ranks, on a toy that trains in seconds."""

from typing import Literal

from lab import losses
from lab.core import style
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Knobs, Numbers, PlotlyFigure, knob


class Tau1Sweep(Figure):
    """Test scores of the recall surrogate by its temperature tau1, mean and spread over seeds."""

    title = "How much does the temperature on ranks matter?"
    source = "RS@k, figure 4 left"
    tier = "toy_training"
    question = "Over which range of τ₁ is the result flat?"
    moves = ("data",)

    class Knobs(Knobs):
        """The temperatures and the toy; or the measured sweep."""

        data: Literal["toy", "Emoji-7"] = knob(
            "toy", "Show a toy example that trains now, or results measured on Emoji-7."
        )
        tau1: tuple[float, ...] = knob(
            (0.1, 0.3, 1.0, 3.0, 10.0), "Temperatures to compare.", ge=0.01, le=100, unit="ranks"
        )
        steps: int = knob(60, "Training steps.", ge=1, le=150)
        simix: bool = knob(False, "Also train with SiMix.", source="RS@k, eq. 8")
        lr: float = knob(0.01, "Learning rate.", ge=0.001, le=0.1, scale="log")
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=4)

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return len(set(self.knobs.tau1)) * (1 + self.knobs.simix) * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            places, curves = _bundled.curves("tau1", "tau1", lines="loss")
            return {"tau1": places, "curves": curves, "subtitle": _bundled.subtitle("tau1")}
        scores: dict[tuple[float, int, bool], dict[str, float]] = {}

        def run(tau1: float, seed: int, metric: str, simix: bool) -> float:
            if (tau1, seed, simix) not in scores:
                toy = _toy.hidden_classes(noise=k.noise, seed=seed)
                loss = losses.create("recall_at_k", tau1=tau1, simix=simix)
                scores[tau1, seed, simix] = _toy.train(loss, toy, steps=k.steps, lr=k.lr, seed=seed).test[-1]
            return scores[tau1, seed, simix][metric]

        curves = {
            f"{m} with SiMix" if simix else m: _toy.sweep(lambda t, s, m=m, x=simix: run(t, s, m, x), k.tau1, k.seeds)
            for simix in ((False, True) if k.simix else (False,))
            for m in ("r@1", "MAP@R")
        }
        note = f"test classes, mean and deviation over {k.seeds} seeds, {k.steps} steps"
        return {"tau1": k.tau1, "curves": curves, "subtitle": note}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = style.canvas(
            self.title,
            numbers["subtitle"],
            x="temperature τ₁ (ranks, log scale)",
            y="r@1 on unseen classes" if self.knobs.data == "Emoji-7" else "score on unseen classes",
        )
        _toy.draw_sweep(figure, numbers["tau1"], numbers["curves"])
        figure.update_xaxes(type="log", tickvals=numbers["tau1"])
        return figure

    def alt(self, numbers: Numbers) -> str:
        best = {m: numbers["tau1"][int(mean.argmax())] for m, (mean, _) in numbers["curves"].items()}
        return f"Test scores for tau1 in {', '.join(f'{t:g}' for t in numbers['tau1'])}; best at {best}."
