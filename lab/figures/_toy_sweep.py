"""Base class of figures that show how test scores change along one setting, for one or several losses."""

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
    """Declare the knob `data` of a figure that also shows measured results."""
    return knob(
        "Show a toy example that trains now, or results measured on Emoji-7.", default="toy"
    )


class Axis(NamedTuple):
    """A setting that is varied.

    title: title of its axis, with the unit. settings: its values, or the name of the knob that holds them.
    study: the bundled study that measured it, with its name and its score there; None if none did.
    scale: scale of the drawn axis.
    """

    title: str
    settings: Any
    study: tuple[str, str, str | None] | None = None
    scale: Literal["linear", "log", "category"] = "linear"


class ToySweep(Figure):
    """Base class of figures of test scores along a setting, mean and deviation over seeds.

    The scores are those of toys that train now, or of a bundled study. A figure has the knobs `data`, `steps` and
    `seeds`.

    axes: the settings that can be varied; `chosen_by` names the knob that chooses one, if there are several.
    note, words: subtitle and beginning of the text alternative, with knobs in braces; words may have first and last.
    place: the entry of the numbers that holds the values along the axis.
    compares: whether the study compares losses.
    protocol: test of the study: images of `unseen` classes, or new images of `seen` classes.
    measured: knobs that also change measured results, besides `data` and the knob that chooses the axis.
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
        """Return the loss and the score of each line, by its name."""

    @abstractmethod
    def toy(self, setting: Any, seed: int) -> _toy.Toy:
        """Return the data for training and test."""

    @abstractmethod
    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        """Train once, and return the test scores."""

    @property
    def varied(self) -> str:
        """The name of the axis that is drawn."""
        if self.chosen_by:
            return getattr(self.knobs, self.chosen_by)
        return next(iter(self.axes))

    @property
    def axis(self) -> Axis:
        """The axis that is drawn, with its values."""
        axis = self.axes[self.varied]
        if isinstance(axis.settings, str):  # the name of a knob
            return axis._replace(settings=getattr(self.knobs, axis.settings))
        return axis

    def idle(self, runs: Sequence | None = None) -> Collection[str]:
        if self.knobs.data == "toy":
            return {self.varied} & type(self).Knobs.model_fields.keys()
        return type(self).Knobs.model_fields.keys() - {"data", self.chosen_by, *self.measured}

    def training_steps(self) -> int:
        if self.knobs.data != "toy":
            return 0
        losses = {loss for loss, _ in self.lines().values()}
        settings = set(self.axis.settings)
        if self.varied == "steps":
            steps = sum(settings)
        else:
            steps = len(settings) * self.knobs.steps
        return len(losses) * self.knobs.seeds * int(steps)

    def numbers(self) -> Numbers:
        if self.knobs.data == "toy":
            return self._toy_numbers()
        return self._measured_numbers()

    def _toy_numbers(self) -> Numbers:
        """Train the toys."""
        settings = self.axis.settings
        seeds = self.knobs.seeds
        scores = cache(self.scores)  # lines with the same loss share its trainings
        curves = {}
        for name, (loss, score) in self.lines().items():
            curves[name] = _toy.sweep(
                lambda setting, seed, loss=loss, score=score: scores(loss, setting, seed)[score],
                settings,
                seeds,
            )

        # The mean score of the raw points at each setting, for each score that is drawn.
        baselines: dict[str, list] = {score: [] for _, score in self.lines().values()}
        for setting in settings:
            by_seed = [_toy.untrained(self.toy(setting, seed).test) for seed in range(seeds)]
            for score, means in baselines.items():
                means.append(np.mean([values[score] for values in by_seed]))
        without = {score: np.array(means) for score, means in baselines.items()}
        return self._with_baselines(
            self.note.format(**dict(self.knobs)), settings, curves, without, "the raw points"
        )

    def _measured_numbers(self) -> Numbers:
        """Read the results of the bundled study."""
        studies = {name: axis.study for name, axis in self.axes.items() if axis.study}
        if self.varied not in studies:
            name = type(self).__name__
            choices = ", ".join(studies)
            raise ValueError(
                f"{name}: {self.varied!r} was not measured on Emoji-7; choose from {choices}."
            )
        study, setting, column = studies[self.varied]
        settings, curves = _bundled.curves(
            study, setting, column, lines="loss" if self.compares else None
        )
        if not self.compares:
            curves = dict(zip(self.lines(), curves.values(), strict=True))
        column = column or _bundled.scores(study).column
        without = {column: np.full(len(settings), _bundled.frozen()[self.protocol][column])}
        return self._with_baselines(
            _bundled.subtitle(study), settings, curves, without, "frozen features"
        )

    def _with_baselines(
        self, subtitle: str, settings: Any, curves: dict, without: dict, source: str
    ) -> Numbers:
        """Return the numbers, with the lines of no training and a subtitle that says which curves are below them.

        Args:
            without: scores without training along the axis, by the name of the score.
            source: what is embedded without training.
        """
        single = len(without) == 1
        baselines = {}
        for score, line in without.items():
            name = f"no training: {source}" if single else f"no training: {source}, {score}"
            baselines[name] = line
            comparable = {name: curve for name, curve in curves.items() if single or score in name}
            subtitle += _toy.beaten(comparable, line)
        return {self.place: settings, "curves": curves, "without": baselines, "subtitle": subtitle}

    def score_title(self) -> str:
        """Return the title of the vertical axis."""
        return "r@1 on unseen classes"

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        axis = self.axis
        settings = numbers[self.place]
        figure = self.canvas(
            numbers["subtitle"], x=numbers.get("axis", axis.title), y=self.score_title()
        )
        x = settings
        if axis.scale == "category":
            x = [f"{setting:g}" for setting in settings]
        _toy.draw_sweep(figure, x, numbers["curves"], numbers["without"])
        if axis.scale == "log":
            return figure.update_xaxes(type="log", tickvals=settings)
        if axis.scale == "category":
            return figure.update_xaxes(type=axis.scale)
        return figure

    def alt(self, numbers: Numbers) -> str:
        settings = numbers[self.place]
        title = self.axis.title.removesuffix(" (log scale)")
        beginning = self.words.format(
            first=settings[0], last=settings[-1], title=title, **dict(self.knobs)
        )
        lines = {name: mean for name, (mean, _) in numbers["curves"].items()} | numbers["without"]
        ranges = [f"{name} {mean[0]:.3f} to {mean[-1]:.3f}" for name, mean in lines.items()]
        return f"{beginning}: {'; '.join(ranges)}."
