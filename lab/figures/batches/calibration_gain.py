"""001, figure 5: the gain of calibration over SupAP alone, by batch size."""

import numpy as np

from lab import losses
from lab.core import style
from lab.core.estimates import deviation
from lab.figures import _bundled, _toy
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob
from lab.figures._toy_sweep import Data, data_knob

CLASSES = 24
PER_CLASS = 6
"""Classes of the toy's training points, and points of each class."""


class CalibrationGain(Figure):
    """Paired runs with and without the calibration loss, same seed, same batches."""

    title = "What calibration adds, by batch size"
    source = "ROADMAP, figure 5"
    tier = "toy_training"
    question = "The paper finds the gain largest for small batches. Does the toy agree, and over how many seeds?"
    moves = ("data",)

    data: Data = data_knob()
    classes: tuple[int, ...] = knob(
        "Classes per batch, with four images each.", default=(2, 4, 8, 16), ge=2, le=24
    )
    lam: float = knob("Weight of calibration.", default=0.5, ge=0, le=1, source="ROADMAP, eq. 2")
    steps: int = knob("Training steps.", default=40, ge=1, le=100)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def idle(self, runs: object = None) -> set[str]:
        if self.knobs.data == "toy":
            return set()
        return type(self).Knobs.model_fields.keys() - {"data"}

    def training_steps(self) -> int:
        if self.knobs.data == "Emoji-7":
            return 0
        return 2 * len(self.knobs.classes) * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        if k.data == "Emoji-7":
            return _measured()

        toys = [
            _toy.hidden_classes(CLASSES, PER_CLASS, noise=k.noise, seed=seed)
            for seed in range(k.seeds)
        ]

        def scores(lam: float) -> np.ndarray:
            """Train with this weight of calibration; return scores [batch sizes, seeds]."""
            rows = []
            for classes in k.classes:
                row = []
                for seed, toy in enumerate(toys):
                    loss = losses.create("roadmap", lam=lam)
                    trace = _toy.train(loss, toy, steps=k.steps, classes=classes, seed=seed)
                    row.append(trace.test[-1]["MAP@R"])
                rows.append(row)
            return np.array(rows)

        raw = float(np.mean([_toy.untrained(toy.test)["MAP@R"] for toy in toys]))
        return {
            "batch": [4 * classes for classes in k.classes],
            "without": scores(0.0),
            "with": scores(k.lam),
            "subtitle": f"relative gain of λ = {k.lam:g} over SupAP alone, paired by seed",
            "raw": ("no training: the raw points", raw),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        gain = 100 * (numbers["with"] / numbers["without"] - 1)
        figure = self.canvas(
            numbers["subtitle"],
            panels=("relative gain in MAP@R", "both scores"),
            x="batch size (images)",
            y=("gain (%)", "MAP@R on unseen classes"),
        )
        mean_gain = gain.mean(axis=1)
        names = []
        colours = []
        patterns = []
        for batch_size, value in zip(numbers["batch"], mean_gain, strict=True):
            name = f"{batch_size}"
            # N / B, the number of batches in the training set: how little a batch shows
            if self.knobs.data == "toy":
                name += f"<br>N/B {CLASSES * PER_CLASS / batch_size:.3g}"
            sign = style.RIGHT if value >= 0 else style.WRONG
            names.append(f"{name}<br>{sign} {value:+.1f} %")
            colours.append(style.BLUE if value >= 0 else style.VERMILLION)
            patterns.append("" if value >= 0 else "/")
        figure.add_bar(
            x=names,
            y=mean_gain,
            showlegend=False,
            error_y={"array": deviation(gain)},
            marker={"color": colours, "pattern": {"shape": patterns}},
            **LEFT,
        )
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
        values = ", ".join(
            f"{g:+.1f} % at {b}" for g, b in zip(gain, numbers["batch"], strict=True)
        )
        name, raw = numbers["raw"]
        return f"Relative gain in MAP@R of calibration by batch size: {values}; {name} {raw:.3f}."


def _measured() -> Numbers:
    """Return the numbers of the bundled study."""
    study = _bundled.scores("calibration_gain")
    sizes = sorted({setting["batch size"] for setting in study.settings()})

    def scores(loss: str) -> np.ndarray:
        """Return the scores of a loss [batch sizes, seeds]."""
        rows = []
        for size in sizes:
            by_seed = study.by_seed("MAP@R", loss=loss, **{"batch size": size})
            rows.append(list(by_seed.values()))
        return np.array(rows)

    return {
        "batch": sizes,
        "without": scores("SupAP"),
        "with": scores("ROADMAP"),
        "subtitle": f"relative gain of λ = 0.5, {_bundled.subtitle('calibration_gain')}",
        "raw": ("no training: frozen features", _bundled.frozen()["unseen"]["MAP@R"]),
    }
