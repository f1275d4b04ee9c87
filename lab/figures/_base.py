"""What every figure is: declared knobs, numbers, a drawing of the numbers, and the same in words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from lab.core import style
from lab.core.catalog import name_of
from lab.core.knobs import HasKnobs, Knob, Knobs, describe, knob

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "BESIDE", "DASHED", "DOTTED", "LEFT", "Figure", "Knobs", "Numbers", "PlotlyFigure", "Tier", "arrow", "curve",
    "keeping", "knob", "marks", "once", "panel", "slack", "slope", "temperature",
]  # fmt: skip

LEFT, BESIDE = {"row": 1, "col": 1}, {"row": 1, "col": 2}
"""The first panel of a figure, and the one to its right."""
DOTTED, DASHED = ({"dash": dash, "color": style.BLACK} for dash in ("dot", "dash"))
"""Lines that mark a limit."""

RHO = knob("Slope of SupAP's H- beyond delta.", default=100.0, ge=0, le=1000, unit="1/cosine", source="ROADMAP, eq. 4")
DELTA = knob("Gap where SupAP's H- turns linear.", default=0.05, ge=0, le=0.5, unit="cosine", source="ROADMAP, eq. 4")
"""Knobs of the figures that show it."""

UNFOLDED = 4
"""Controls of a figure that stand unfolded, at most."""

Tier = Literal["instant", "toy_training", "from_runs", "static"]
"""instant: a formula, redrawn while a slider moves. toy_training: trains a toy for seconds. from_runs: a view over
finished runs. static: a drawing that no knob changes."""

Numbers = dict[str, Any]

PlotlyFigure: TypeAlias = "go.Figure"
"""What drawing returns; plotly itself is loaded by who draws."""

Result = TypeVar("Result")

MOST = 256
"""Results that are kept."""
_call: ContextVar[Callable[..., Any]] = ContextVar("_call", default=lambda make, *arguments: make(*arguments))


class Figure(HasKnobs, ABC):
    """Base of every figure.

    title: what it shows.
    source: paper and figure it makes live; "More" for a figure that follows no paper.
    tier: how long it takes, and from what it is made.
    question: what the reader is asked to find out by moving the knobs.
    reads_runs: whether `figure(runs)` takes finished runs, as `lab.runs.list()` returns them.
    drag: knobs that a notebook lets one drag together: `("scores", "pattern")`, a ranked list; or two coordinates and
        perhaps the classes of points in the plane, empty at first, which then start at the figure's `points()`
        (places [n 2] and labels [n]); without a knob of classes their number is fixed.
    plays: an int knob that gets a play button.
    shows_code: whether its points carry the names of the code that they stand for, which a click then shows.
    moves: knobs that move in a page without Python unless others are named; by default the first two with a slider.
    stops: instead of `moves`, knobs with the values at which they stop there, two of them or any number of ticks. For a
        figure that trains at each, or whose knobs are free words: all of a page's pictures together should take half a
        minute at most.
    in_page: of a figure that a page computes by itself (see the folder in_page), knobs for which it knows only these
        values.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    tier: ClassVar[Tier]
    question: ClassVar[str]
    reads_runs: ClassVar[bool] = False
    drag: ClassVar[tuple[str, ...]] = ()
    plays: ClassVar[str | None] = None
    shows_code: ClassVar[bool] = False
    moves: ClassVar[tuple[str, ...]] = ()
    stops: ClassVar[Mapping[str, tuple]] = {}
    in_page: ClassVar[Mapping[str, tuple]] = {}

    @abstractmethod
    def numbers(self) -> Numbers:
        """Everything the drawing shows, computed from the knobs; takes `runs` too where `reads_runs`."""

    @abstractmethod
    def draw(self, numbers: Numbers) -> PlotlyFigure:
        """Draw the numbers; computes nothing."""

    @abstractmethod
    def alt(self, numbers: Numbers) -> str:
        """The drawing in words, for those who do not see it."""

    @classmethod
    def origin(cls) -> str:
        """What it follows, in words: paper and figure, or no paper."""
        return "Of this lab, after no paper" if cls.source == "More" else cls.source

    def canvas(self, subtitle: str = "", **layout: Any) -> PlotlyFigure:
        """An empty drawing below the figure's title; `layout` is that of `lab.core.style.canvas`."""
        return style.canvas(self.title, subtitle, **layout)

    def clicked(self, x: Any, y: Any) -> Numbers:
        """Knobs that change when the mark at (x, y) is clicked; most figures do not answer to clicks."""
        return {}

    def given(self) -> Numbers:
        """What a page that computes the figure needs besides its knobs."""
        from lab.figures import twelve

        return {"faces": twelve.faces()} if "scores" in self.drag else {}

    def training_steps(self) -> int:
        """Steps that its small trainings take, all together; 0 where these knobs train nothing."""
        return 0

    def idle(self, runs: Sequence | None = None) -> Collection[str]:
        """Knobs that change nothing that is drawn, as the others stand: their controls are hidden."""
        return {"split"} & type(self).Knobs.model_fields.keys() if runs is None else ()  # examples were tested alone

    def offers(self, runs: Sequence) -> dict[str, Sequence[str]]:
        """Knobs of free words of a figure of runs, each with what can be chosen for these."""
        if not self.reads_runs:
            return {}
        varied: dict[str, set[str]] = {}
        for run in runs:
            for name, value in flat(run.config_dict).items():
                varied.setdefault(name, set()).add(str(value))
        settings = [name for name, values in varied.items() if len(values) > 1]
        choices = {
            "study": self.stops.get("study", ()),
            "metric": list(dict.fromkeys(name for run in runs for name in (run.scores() or {}).get("values", ()))),
            "split": ("test", "validation", "train"),
            **dict.fromkeys(("x", "y", "axis", "group"), settings),
        }
        return {name: values for name, values in choices.items() if name in type(self).Knobs.model_fields}

    def controls(self, runs: Sequence | None = None) -> tuple[list[Knob], list[Knob]]:
        """The knobs that are not dragged: at most four that are shown at once, and those that are folded away."""
        kind, offers = type(self), self.offers(self.example() if runs is None else runs)
        knobs = {one.name: one for one in describe(kind.Knobs) if one.name not in kind.drag}
        for name, choices in offers.items():
            knobs[name] = replace(knobs[name], options=tuple(dict.fromkeys((*choices, getattr(self.knobs, name)))))
        order = list(dict.fromkeys((*kind.moves, *kind.stops, *knobs)))
        return [knobs[name] for name in order[:UNFOLDED]], [knobs[name] for name in order[UNFOLDED:]]

    def example(self) -> Sequence:
        """What a figure that `reads_runs` shows when no runs are given; empty where it then has something else."""
        return ()

    def figure(self, runs: Sequence | None = None) -> PlotlyFigure:
        """The numbers of these knobs, drawn; the text alternative is in `layout.meta["alt"]`.

        Args:
            runs: finished runs, for a figure that `reads_runs`; by default those that come with the package.

        Raises:
            ValueError: runs given to a figure that does not read them, or too few to one that does; knobs that do not
                fit together.
        """
        if runs is not None and not self.reads_runs:
            raise ValueError(f"{type(self).__name__} is drawn from its knobs and takes no runs.")
        compute: Callable[..., Numbers] = self.numbers  # takes runs in a class that reads them
        numbers = compute(self.example() if runs is None else runs) if self.reads_runs else compute()
        drawn = self.draw(numbers)
        drawn.layout.meta = {"alt": self.alt(numbers)}
        return drawn

    def code(self) -> str:
        """The line of Python that makes this figure; knobs at their default are left out."""
        defaults = type(self.knobs)()
        arguments = [f"{k}={v!r}" for k, v in self.knobs if v != getattr(defaults, k)]
        return f"lab.figures.create({', '.join([repr(name_of(type(self))), *arguments])}).figure()"


@contextmanager
def keeping() -> Iterator[None]:
    """What `once` has made within is not made again."""
    token = _call.set(lru_cache(MOST)(_call.get()))
    try:
        yield
    finally:
        _call.reset(token)


def once(make: Callable[..., Result], *arguments: Hashable) -> Result:
    """`make(*arguments)`; within `keeping`, what it gave before for the same arguments.

    Args:
        make: a function of a module whose result follows from its arguments alone, and which nobody changes.

    Example:
        >>> with keeping():
        ...     once(print, "trained"), once(print, "trained")
        trained
        (None, None)
    """
    return _call.get()(make, *arguments)


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted names: {"loss": {"name": "sup_ap"}} gives {"loss.name": "sup_ap"}."""
    values: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        values |= flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return values


def slack(default: float, most: float = 1) -> float:
    """A figure's knob epsilon of the contextual loss."""
    words = "Slack (epsilon) by which a neighbourhood is enlarged."
    return knob(words, default=default, ge=0, le=most, unit="squared distance", source="Contextual, eq. 2")


def temperature(words: str, source: str, most: float = 1) -> float:
    """A figure's knob tau of a surrogate for the step between two similarities."""
    return knob(words, default=0.01, ge=0.001, le=most, scale="log", unit="cosine", source=source)


def slope() -> float:
    """A figure's knob alpha of the contextual loss."""
    words = "Slope of theta in the backward pass."
    return knob(words, default=10.0, ge=0.1, le=100, scale="log", source="Contextual, eq. 1")


def curve(
    figure: PlotlyFigure, index: int, name: str | None, x: Any, y: Any, width: float = 2.5, size: float = 0, **more: Any
) -> None:
    """The index-th line of a figure, with marks of a size where it has any; more: of plotly's scatter."""
    marker = {"mode": "lines+markers", "marker": style.marker(index, size)} if size else {"mode": "lines"}
    figure.add_scatter(x=x, y=y, name=name, line=style.line(index, width), **marker, **more)


def marks(
    figure: PlotlyFigure, index: int, name: str | None, x: Any, y: Any, size: float = 9, opacity: float | None = None,
    **more: Any,
) -> None:  # fmt: skip
    """The index-th set of points of a figure; more: of plotly's scatter."""
    look = {**style.marker(index, size), "opacity": opacity}
    figure.add_scatter(x=x, y=y, name=name, mode="markers", marker=look, **more)


def arrow(
    figure: PlotlyFigure, start: Sequence[float], end: Sequence[float], colour: str, width: float = 2.5, **more: Any
) -> None:
    """An arrow between two places of the only or the first panel; more: of plotly's annotation."""
    places = {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], "axref": "x", "ayref": "y"}
    look = {"text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": width, "arrowcolor": colour}
    figure.add_annotation(**places, **look, **more)


def panel(column: int, name: str) -> dict[str, Any]:
    """Where a trace of the column-th panel goes; the legend tells once of those that share a name."""
    return {"legendgroup": name, "showlegend": column == 1, "row": 1, "col": column}
