"""002: what picking on the test set brought in trainings that were really made."""

import math
from typing import Literal

import numpy as np

from lab import trials
from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

ORDERS = 200
"""Random orders in which the settings of a seed might have been tried."""


class MeasuredFeedback(Figure):
    """Scores of settings trained for `lab papers claims`, the best picked on test classes or on validation classes."""

    title = "Picked on the test set, in trainings that were made"
    source = "DML deck, slides on training with test-set feedback; measured"
    tier = "static"
    question = "How much of a gain over other papers could be that theirs was picked on validation classes?"

    study: Literal["losses", "batch_size", "tau1"] = knob(
        "Study of `lab papers claims`; each of its settings with each learning rate is one trial.", default="losses"
    )

    def numbers(self) -> Numbers:
        by_seed: dict[int, list[tuple[float, float]]] = {}
        made = [trial for trial in trials.bundled(self.knobs.study).trials if not trial.failed]
        (column,) = made[0].validation
        for trial in made:
            pair = trial.validation.get(column, math.nan), trial.test.get(column, math.nan)
            if all(map(math.isfinite, pair)):
                by_seed.setdefault(trial.seed, []).append(pair)
        count = min(map(len, by_seed.values()))
        curves = [picked(np.array(pairs), count, seed) for seed, pairs in by_seed.items()]
        on_test, on_validation = np.mean(curves, axis=0)
        return {
            "trials": np.arange(1, count + 1),
            "picked on test classes": on_test,
            "picked on validation classes": on_validation,
            "column": column,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        last = {name: values[-1] for name, values in numbers.items() if name.startswith("picked")}
        difference = last["picked on test classes"] - last["picked on validation classes"]
        figure = self.canvas(
            f"after all {len(numbers['trials'])} trials the better habit reports <b>{difference:.2f} points</b> less",
            x="trials made (log scale)",
            y=f"gain over one trial (points of {numbers['column']})",
        )
        for index, name in enumerate(last):
            line = style.line(1 - index, 3)
            figure.add_scatter(x=numbers["trials"], y=numbers[name], name=name, mode="lines", line=line)
        figure.update_xaxes(type="log", dtick=1)
        return figure.update_layout(hovermode="x unified", legend={"x": 0.01, "y": 0.99})

    def alt(self, numbers: Numbers) -> str:
        ends = ", ".join(f"{name} {values[-1]:.2f}" for name, values in numbers.items() if name.startswith("picked"))
        return f"Test score by number of trials, as gain over one trial. After {len(numbers['trials'])}: {ends} points."


def picked(pairs: np.ndarray, count: int, seed: int) -> np.ndarray:
    """float64 [2 count]: test score, in points over the mean trial, of the best of 1 to `count` trials by its test
    score and by its validation score; mean over random orders.

    Args:
        pairs: float64 [n 2], validation and test score of each trial.
    """
    random = np.random.default_rng(seed)
    total = np.zeros((2, count))
    for _ in range(ORDERS):
        validation, test = pairs[random.permutation(len(pairs))[:count]].T
        for row, score in enumerate((test, validation)):
            best = np.maximum.accumulate(score)
            first = np.maximum.accumulate(np.where(score == best, np.arange(count), 0))
            total[row] += test[first]
    return 100 * (total / ORDERS - pairs[:, 1].mean())
