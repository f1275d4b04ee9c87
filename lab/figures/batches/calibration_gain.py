"""001, figure 5: what calibration adds to SupAP, by batch size."""

import numpy as np

from lab import losses
from lab.core import style
from lab.core.estimates import deviation
from lab.figures import _bundled, _toy
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob
from lab.figures._toy_sweep import Data, data_knob

CLASSES, PER_CLASS = 24, 6
"""Of the toy's training points."""


class CalibrationGain(Figure):
    """Paired runs with and without the calibration loss, same seed, same batches."""

    title = "What calibration adds, by batch size"
    source = "ROADMAP, figure 5"
    tier = "toy_training"
    question = "The paper finds the gain largest for small batches. Does the toy agree, and over how many seeds?"
    moves = ("data",)

    data: Data = data_knob()
    classes: tuple[int, ...] = knob("Classes per batch, with four images each.", default=(2, 4, 8, 16), ge=2, le=24)
    lam: float = knob("Weight of calibration.", default=0.5, ge=0, le=1, source="ROADMAP, eq. 2")
    steps: int = knob("Training steps.", default=40, ge=1, le=100)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def idle(self, runs: object = None) -> set[str]:
        return set() if self.knobs.data == "toy" else type(self).Knobs.model_fields.keys() - {"data"}

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return 2 * len(self.knobs.classes) * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            return _measured()

        toys = [_toy.hidden_classes(CLASSES, PER_CLASS, noise=k.noise, seed=seed) for seed in range(k.seeds)]

        def run(lam: float, count: float, seed: int) -> float:
            loss = losses.create("roadmap", lam=lam)
            return _toy.train(loss, toys[seed], steps=k.steps, classes=int(count), seed=seed).test[-1]["MAP@R"]

        scores = np.array([[[run(lam, c, seed) for seed in range(k.seeds)] for c in k.classes] for lam in (0.0, k.lam)])
        note = f"relative gain of λ = {k.lam:g} over SupAP alone, paired by seed"
        raw = float(np.mean([_toy.untrained(toy.test)["MAP@R"] for toy in toys]))
        return {"batch": [4 * c for c in k.classes], "without": scores[0], "with": scores[1], "subtitle": note,
                "raw": ("no training: the raw points", raw)}  # fmt: skip

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        gain = 100 * (numbers["with"] / numbers["without"] - 1)
        figure = self.canvas(
            numbers["subtitle"],
            panels=("relative gain in MAP@R", "both scores"),
            x="batch size (images)",
            y=("gain (%)", "MAP@R on unseen classes"),
        )
        # N / B, how many batches the training images make, decides how much a batch can know of the whole.
        shares = [f"<br>N/B {CLASSES * PER_CLASS / b:.3g}" * (self.knobs.data == "toy") for b in numbers["batch"]]
        named = [
            f"{b}{share}<br>{style.RIGHT if g >= 0 else style.WRONG} {g:+.1f} %"
            for b, share, g in zip(numbers["batch"], shares, gain.mean(axis=1), strict=True)
        ]
        figure.add_bar(
            x=named, y=gain.mean(axis=1), showlegend=False, error_y={"array": deviation(gain)},
            marker={
                "color": [style.BLUE if g >= 0 else style.VERMILLION for g in gain.mean(axis=1)],
                "pattern": {"shape": ["" if g >= 0 else "/" for g in gain.mean(axis=1)]},
            }, **LEFT,
        )  # fmt: skip
        curves = {
            "ROADMAP": (numbers["with"].mean(axis=1), deviation(numbers["with"])),
            "SupAP": (numbers["without"].mean(axis=1), deviation(numbers["without"])),
        }
        name, raw = numbers["raw"]
        line = np.full(len(numbers["batch"]), raw)
        _toy.draw_sweep(figure, [str(b) for b in numbers["batch"]], curves, {name: line}, **BESIDE)
        style.head(figure, self.title, numbers["subtitle"] + _toy.beaten(curves, line))
        return figure.update_xaxes(type="category", tickangle=0)

    def alt(self, numbers: Numbers) -> str:
        gain = 100 * (numbers["with"] / numbers["without"] - 1).mean(axis=1)
        values = ", ".join(f"{g:+.1f} % at {b}" for g, b in zip(gain, numbers["batch"], strict=True))
        name, raw = numbers["raw"]
        return f"Relative gain in MAP@R of calibration by batch size: {values}; {name} {raw:.3f}."


def _measured() -> Numbers:
    """What the study of this name found, [batch sizes, seeds]."""
    measured = _bundled.scores("calibration_gain")
    sizes = sorted({s["batch size"] for s in measured.settings()})

    def by_seed(loss: str) -> np.ndarray:
        return np.array([list(measured.by_seed("MAP@R", loss=loss, **{"batch size": b}).values()) for b in sizes])

    note = f"relative gain of λ = 0.5, {_bundled.subtitle('calibration_gain')}"
    raw = "no training: frozen features", _bundled.frozen()["unseen"]["MAP@R"]
    return {"batch": sizes, "without": by_seed("SupAP"), "with": by_seed("ROADMAP"), "subtitle": note, "raw": raw}
