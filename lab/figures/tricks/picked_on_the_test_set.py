"""002: how much a score gains when the best of many trials is picked on the test set."""

import numpy as np

from lab.figures._base import Figure, Numbers, PlotlyFigure, curve, knob


class PickedOnTheTestSet(Figure):
    """Equal methods, noisy measurements, and the number that gets published."""

    title = "Choosing on the test set inflates the score"
    source = "DML deck, slides on training with test-set feedback; a simulation"
    tier = "instant"
    question = "How many trials make a method without any merit one point better?"

    trials: int = knob(
        "Number of trials (seeds, epochs, settings) to choose from.",
        default=100,
        ge=2,
        le=1000,
        scale="log",
    )
    merit: float = knob(
        "Standard deviation of the true scores of the trials.",
        default=0.5,
        ge=0,
        le=5,
        unit="points of r@1",
    )
    validation_noise: float = knob(
        "Noise of the validation score.", default=0.8, ge=0, le=5, unit="points of r@1"
    )
    test_noise: float = knob(
        "Noise of the test score.", default=0.8, ge=0, le=5, unit="points of r@1"
    )
    repeats: int = knob(
        "Number of repetitions of the simulation.", default=400, ge=20, le=2000, scale="log"
    )
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        shape = (k.repeats, k.trials)
        true = k.merit * random.normal(size=shape)
        validation = true + k.validation_noise * random.normal(size=shape)
        test = true + k.test_noise * random.normal(size=shape)

        def best_so_far(score: np.ndarray) -> np.ndarray:
            """Return the index of the best trial among the first t, int64 [repeats trials]."""
            record = np.maximum.accumulate(score, axis=1)
            fresh = np.concatenate(
                [np.ones((k.repeats, 1), bool), score[:, 1:] > record[:, :-1]], axis=1
            )
            return np.maximum.accumulate(np.where(fresh, np.arange(k.trials), 0), axis=1)

        by_test = best_so_far(test)
        by_validation = best_so_far(validation)

        def mean_of(score: np.ndarray, index: np.ndarray) -> np.ndarray:
            return np.take_along_axis(score, index, axis=1).mean(axis=0)

        return {
            "trials": np.arange(1, k.trials + 1),
            "reported, picked on test": mean_of(test, by_test),
            "true, picked on test": mean_of(true, by_test),
            "reported, picked on validation": mean_of(test, by_validation),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        curves = [name for name in numbers if name != "trials"]
        inflated = numbers["reported, picked on test"][-1] - numbers["true, picked on test"][-1]
        figure = self.canvas(
            f"after {self.knobs.trials} trials the published score is <b>{inflated:.2f} points</b> above the truth",
            x="trials tried (log scale)",
            y="gain over one trial (points of r@1)",
        )
        for name, index in zip(curves, (1, 2, 0), strict=True):
            curve(figure, index, name, numbers["trials"], numbers[name], width=3)
        figure.update_xaxes(type="log", dtick=1)
        return figure.update_layout(hovermode="x unified", legend={"x": 0.01, "y": 0.99})

    def alt(self, numbers: Numbers) -> str:
        ends = ", ".join(
            f"{name} {values[-1]:.2f}" for name, values in numbers.items() if name != "trials"
        )
        return f"Simulated scores by number of trials. After {self.knobs.trials} trials: {ends} points."
