"""One figure for many questions: how test scores change along one setting, for one loss or several."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from lab.core.knobs import knob
from lab.figures import _bundled, _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure

Data = Literal["toy", "Emoji-7"]


def data_knob() -> Data:
    """The knob `data` of a figure that can also be measured."""
    return knob("Show a toy example that trains now, or results measured on Emoji-7.", default="toy")


class Axis(NamedTuple):
    """A setting that is varied: title of its axis with the unit, its values or the knob that says them, the bundled
    study that measured it with its name and score there (None: none did), and how it is drawn."""

    title: str
    settings: Any
    study: tuple[str, str, str | None] | None = None
    scale: Literal["linear", "log", "category"] = "linear"


class ToySweep(Figure):
    """Test scores along a setting, mean and deviation over seeds: of toys that train now, or of a bundled study.

    axes: what can be varied; `chosen_by` names the knob that chooses, where there are several.
    note, words: subtitle and beginning of the text alternative, with knobs in braces; words may have first and last.
    place: the entry of the numbers that holds the values along the axis.
    compares: whether the study compares losses.
    protocol: of the study's test: images of `unseen` classes, or new ones of `seen` classes.
    measured: knobs that also change what was measured, besides `data` and the one that chooses the axis.
    A figure has the knobs `data`, `steps` and `seeds`.
    """

    tier = "toy_training"
    moves: ClassVar[tuple[str, ...]] = ("data",)
    axes: ClassVar[dict[str, Axis]]
    chosen_by: ClassVar[str] = ""
    note: ClassVar[str]
    words: ClassVar[str]
    place: ClassVar[str] = "settings"
    compares: ClassVar[bool] = True
    protocol: ClassVar[str] = "unseen"
    measured: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def lines(self) -> dict[str, tuple[str, str]]:
        """Each line with the loss that is trained for it and the score that it shows."""

    @abstractmethod
    def toy(self, setting: Any, seed: int) -> _toy.Toy:
        """What is trained and tested on."""

    @abstractmethod
    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        """Test scores after one training."""

    @property
    def varied(self) -> str:
        """The axis that is drawn."""
        return getattr(self.knobs, self.chosen_by) if self.chosen_by else next(iter(self.axes))

    @property
    def axis(self) -> Axis:
        chosen = self.axes[self.varied]
        named = isinstance(chosen.settings, str)
        return chosen._replace(settings=getattr(self.knobs, chosen.settings)) if named else chosen

    def idle(self, runs: Sequence | None = None) -> Collection[str]:
        if self.knobs.data == "toy":
            return {self.varied} & type(self).Knobs.model_fields.keys()
        return type(self).Knobs.model_fields.keys() - {"data", self.chosen_by, *self.measured}

    def training_steps(self) -> int:
        if self.knobs.data != "toy":
            return 0
        losses, settings = {loss for loss, _ in self.lines().values()}, set(self.axis.settings)
        steps = sum(settings) if self.varied == "steps" else len(settings) * self.knobs.steps
        return len(losses) * self.knobs.seeds * int(steps)

    def numbers(self) -> Numbers:
        settings, seeds = self.axis.settings, self.knobs.seeds
        if self.knobs.data == "toy":
            scores = cache(self.scores)
            curves = {
                name: _toy.sweep(lambda x, seed, loss=loss, score=score: scores(loss, x, seed)[score], settings, seeds)
                for name, (loss, score) in self.lines().items()
            }
            seen = [[_toy.untrained(self.toy(x, seed).test) for seed in range(seeds)] for x in settings]
            names = dict.fromkeys(score for _, score in self.lines().values())
            without = {s: np.array([np.mean([one[s] for one in by_seed]) for by_seed in seen]) for s in names}
            return self._told(self.note.format(**dict(self.knobs)), settings, curves, without, "the raw points")
        studies = {name: axis.study for name, axis in self.axes.items() if axis.study}
        if self.varied not in studies:
            name, there = type(self).__name__, ", ".join(studies)
            raise ValueError(f"{name}: {self.varied!r} was not measured on Emoji-7; choose from {there}.")
        study, setting, column = studies[self.varied]
        settings, curves = _bundled.curves(study, setting, column, lines="loss" if self.compares else None)
        curves = curves if self.compares else dict(zip(self.lines(), curves.values(), strict=True))
        column = column or _bundled.scores(study).column
        without = {column: np.full(len(settings), _bundled.frozen()[self.protocol][column])}
        return self._told(_bundled.subtitle(study), settings, curves, without, "frozen features")

    def _told(self, subtitle: str, settings: Any, curves: dict, without: dict, what: str) -> Numbers:
        """The numbers, with what is reached without training and whom that beats."""
        ends = {score: [name for name in curves if len(without) == 1 or score in name] for score in without}
        words = [_toy.beaten({name: curves[name] for name in ends[score]}, line) for score, line in without.items()]
        lines = {f"no training: {what}" + f", {s}" * (len(without) > 1): line for s, line in without.items()}
        return {self.place: settings, "curves": curves, "without": lines, "subtitle": subtitle + "".join(words)}

    def score_title(self) -> str:
        """Title of the vertical axis."""
        return "r@1 on unseen classes"

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        axis, settings = self.axis, numbers[self.place]
        figure = self.canvas(numbers["subtitle"], x=numbers.get("axis", axis.title), y=self.score_title())
        places = [f"{setting:g}" for setting in settings] if axis.scale == "category" else settings
        _toy.draw_sweep(figure, places, numbers["curves"], numbers["without"])
        if axis.scale == "log":
            return figure.update_xaxes(type="log", tickvals=settings)
        return figure.update_xaxes(type=axis.scale) if axis.scale == "category" else figure

    def alt(self, numbers: Numbers) -> str:
        settings = numbers[self.place]
        words = self.words.format(
            first=settings[0], last=settings[-1], title=self.axis.title.removesuffix(" (log scale)"), **dict(self.knobs)
        )
        lines = {name: mean for name, (mean, _) in numbers["curves"].items()} | numbers["without"]
        return f"{words}: {'; '.join(f'{name} {mean[0]:.3f} to {mean[-1]:.3f}' for name, mean in lines.items())}."
