"""000, section 4.2: which ranks k the recall surrogate sums over, measured."""

from typing import Literal

import numpy as np

from lab.core import style
from lab.core.estimates import deviation
from lab.figures import _bundled
from lab.figures._base import BESIDE, DOTTED, LEFT, Figure, Numbers, PlotlyFigure, knob, marks
from lab.trials import interval

STUDY = "set_of_k"
PAPER = "1 2 4 8 16"
TESTED_FOR_EACH_OTHER = 1.0
"""Half of the classes test, as many as do not: what widens the intervals over seeds (docs/claims.md)."""


class SetOfK(Figure):
    """Scores of RS@k for eight sets of k, and how far each set is from the one it is compared with, seed by seed."""

    title = "Which set of k?"
    source = "RS@k, section 4.2"
    tier = "instant"
    question = "Which sets differ from the paper's by more than chance explains, and does a single k do as well?"
    moves = ("score", "less")

    score: Literal["r@1", "r@4", "MAP@R", "mAP"] = knob("Score on unseen classes.", default="r@1")
    less: Literal["1", "4", "16", "1 2", "1 2 4", "1 2 4 8", "1 2 4 8 16", "1 2 4 8 16 32"] = knob(
        "Set of k that the others are compared with; the paper trains with 1 2 4 8 16.", default=PAPER
    )

    def numbers(self) -> Numbers:
        k, scores = self.knobs, _bundled.scores(STUDY)
        sets = [setting["k"] for setting in scores.settings()]
        found = [100 * np.array(list(scores.by_seed(k.score, k=one).values())) for one in sets]
        gains = {}
        for one in [one for one in sets if one != k.less]:
            paired = scores.paired(lambda s, one=one: s(k.score, k=one) - s(k.score, k=k.less))
            gains[one] = interval([100 * value for value in paired.values()], shared=TESTED_FOR_EACH_OTHER)
        return {
            "sets": sets,
            "mean": np.array([values.mean() for values in found]),
            "deviation": np.array([deviation(values) for values in found]),
            "gains": gains,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k, gains = self.knobs, numbers["gains"]
        (less,) = _named([k.less])
        surely = [one for one, gain in gains.items() if gain.low > 0 or gain.high < 0]
        figure = self.canvas(
            f"{k.score} from {numbers['mean'].min():.1f} to {numbers['mean'].max():.1f} %; surely different from "
            f"{less}: <b>{', '.join(_named(surely)) or 'none'}</b>; {_bundled.subtitle(STUDY)}",
            panels=(f"{k.score}, mean and deviation over seeds", f"less that of {less}, 95 % interval"),
            shared_yaxes=True,
            horizontal_spacing=0.06,
            x=(f"{k.score}, %", "points"),
            y=("set of k",),
        )
        marks(
            figure, 0, None, numbers["mean"], _named(numbers["sets"]), size=12,
            error_x={"array": numbers["deviation"], "thickness": 2}, showlegend=False,
            hovertemplate="k in %{y}<br>%{x:.1f} %", **LEFT,
        )  # fmt: skip
        for index, certain in ((1, True), (2, False)):
            mine = [one for one in gains if (one in surely) == certain]
            ends = [(gains[one].high - gains[one].mean) for one in mine]
            marks(
                figure, index, "surely different" if certain else "cannot be told from it",
                [gains[one].mean for one in mine], _named(mine), size=12, error_x={"array": ends, "thickness": 2},
                hovertemplate="k in %{y}<br>%{x:+.2f} points", **BESIDE,
            )  # fmt: skip
        figure.add_vline(x=0, line=DOTTED, **BESIDE)
        order = _named(numbers["sets"])
        figure.update_yaxes(type="category", categoryorder="array", categoryarray=order[::-1])
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        means = ", ".join(f"{{{one}}} {mean:.1f}" for one, mean in zip(numbers["sets"], numbers["mean"], strict=True))
        gains = ", ".join(
            f"{{{one}}} {gain.mean:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})"
            for one, gain in numbers["gains"].items()
        )
        return f"{self.knobs.score} in percent by set of k: {means}. Less that of {{{self.knobs.less}}}: {gains}."


def _named(sets: list[str]) -> list[str]:
    return [f"{{{one.replace(' ', ', ')}}}" for one in sets]
