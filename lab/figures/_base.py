"""Base class of figures: declared knobs, numbers, a drawing of the numbers, and a text alternative."""

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
    "BESIDE",
    "DASHED",
    "DOTTED",
    "LEFT",
    "Figure",
    "Knobs",
    "Numbers",
    "PlotlyFigure",
    "Tier",
    "arrow",
    "curve",
    "keeping",
    "knob",
    "marks",
    "once",
    "panel",
    "slack",
    "slope",
    "temperature",
]

LEFT = {"row": 1, "col": 1}
BESIDE = {"row": 1, "col": 2}
"""The first panel of a figure, and the one to its right."""
DOTTED, DASHED = ({"dash": dash, "color": style.BLACK} for dash in ("dot", "dash"))
"""Lines that mark a limit."""

RHO = knob(
    "Slope of SupAP's H- beyond delta.",
    default=100.0,
    ge=0,
    le=1000,
    unit="1/cosine",
    source="ROADMAP, eq. 4",
)
DELTA = knob(
    "Gap where SupAP's H- turns linear.",
    default=0.05,
    ge=0,
    le=0.5,
    unit="cosine",
    source="ROADMAP, eq. 4",
)
"""Knobs of the figures that show it."""

UNFOLDED = 4
"""Largest number of controls that are shown at once; all others are folded away."""

Tier = Literal["instant", "toy_training", "from_runs", "static"]
"""instant: a formula, redrawn while a slider moves. toy_training: trains a toy for seconds. from_runs: a view of
finished runs. static: a drawing that no knob changes."""

Numbers = dict[str, Any]

PlotlyFigure: TypeAlias = "go.Figure"
"""The type of a drawing; plotly itself is imported only by functions that draw."""

Result = TypeVar("Result")

MOST = 256
"""Number of results in the cache of `once`."""
_call: ContextVar[Callable[..., Any]] = ContextVar(
    "_call", default=lambda make, *arguments: make(*arguments)
)


class Figure(HasKnobs, ABC):
    """Base class of all figures.

    title: title of the figure.
    source: paper and figure that it makes interactive; "More" for a figure that follows no paper.
    tier: how long it takes, and from what it is made.
    question: question that the reader can answer by moving the knobs.
    reads_runs: whether `figure(runs)` takes finished runs, as `lab.runs.list()` returns them.
    drag: knobs that the user of a notebook drags together: `("scores", "pattern")`, a ranked list; or two coordinates
        and optionally the classes of points in the plane. The latter are empty at first and start at the figure's
        `points()` (places [n 2] and labels [n]); without a knob of classes the number of points is fixed.
    plays: an int knob that gets a play button.
    shows_code: whether its points have the names of functions in the code, which a click then shows.
    moves: knobs that move in a page without Python, unless the caller names others; by default the first two sliders.
    stops: instead of `moves`, knobs with the values at which they stop, two of them or any number of ticks. For a
        figure that trains at each stop, or whose knobs are free words. All pictures of a page together should take half
        a minute at most.
    in_page: for a figure that a page computes without Python (see the folder in_page), the values to which the page is
        limited, by knob.
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
        """Compute everything that the drawing shows from the knobs; a class that `reads_runs` also takes `runs`."""

    @abstractmethod
    def draw(self, numbers: Numbers) -> PlotlyFigure:
        """Draw the numbers, without further computation."""

    @abstractmethod
    def alt(self, numbers: Numbers) -> str:
        """Describe the drawing in words, as its text alternative."""

    @classmethod
    def origin(cls) -> str:
        """Return the source in words: paper and figure, or that it follows no paper."""
        return "Of this lab, after no paper" if cls.source == "More" else cls.source

    def canvas(self, subtitle: str = "", **layout: Any) -> PlotlyFigure:
        """Return an empty drawing with the figure's title; `layout` is that of `lab.core.style.canvas`."""
        return style.canvas(self.title, subtitle, **layout)

    def clicked(self, x: Any, y: Any) -> Numbers:
        """Return the knobs to change when the mark at (x, y) is clicked; most figures ignore clicks."""
        return {}

    def given(self) -> Numbers:
        """Return the data that a page needs to compute the figure, besides its knobs."""
        from lab.figures import twelve

        return {"faces": twelve.faces()} if "scores" in self.drag else {}

    def training_steps(self) -> int:
        """Return the number of steps of all its small trainings; 0 if it trains nothing with these knobs."""
        return 0

    def idle(self, runs: Sequence | None = None) -> Collection[str]:
        """Return the knobs that change nothing with the current values of the others; their controls are hidden."""
        if runs is not None:
            return ()
        # the example runs have only the test split
        return {"split"} & type(self).Knobs.model_fields.keys()

    def offers(self, runs: Sequence) -> dict[str, Sequence[str]]:
        """Return the choices for the free words of a figure of runs, by knob."""
        if not self.reads_runs:
            return {}

        # Settings that differ between the runs, and the scores that they have.
        values_of: dict[str, set[str]] = {}
        scores: dict[str, None] = {}
        for run in runs:
            for name, value in flat(run.config_dict).items():
                values_of.setdefault(name, set()).add(str(value))
            measured = run.scores() or {}
            scores |= dict.fromkeys(measured.get("values", ()))
        settings = [name for name, values in values_of.items() if len(values) > 1]

        choices = {
            "study": self.stops.get("study", ()),
            "metric": list(scores),
            "split": ("test", "validation", "train"),
            **dict.fromkeys(("x", "y", "axis", "group"), settings),
        }
        return {
            name: values
            for name, values in choices.items()
            if name in type(self).Knobs.model_fields
        }

    def controls(self, runs: Sequence | None = None) -> tuple[list[Knob], list[Knob]]:
        """Return the knobs that are not dragged: at most four to show at once, and those to fold away."""
        kind = type(self)
        knobs = {knob.name: knob for knob in describe(kind.Knobs) if knob.name not in kind.drag}
        offers = self.offers(self.example() if runs is None else runs)
        for name, choices in offers.items():
            # with the current value, each once
            options = dict.fromkeys((*choices, getattr(self.knobs, name)))
            knobs[name] = replace(knobs[name], options=tuple(options))
        order = list(dict.fromkeys((*kind.moves, *kind.stops, *knobs)))
        return [knobs[name] for name in order[:UNFOLDED]], [
            knobs[name] for name in order[UNFOLDED:]
        ]

    def example(self) -> Sequence:
        """Return the runs that a figure that `reads_runs` shows by default; empty if it then shows something else."""
        return ()

    def figure(self, runs: Sequence | None = None) -> PlotlyFigure:
        """Compute and draw the figure with these knobs; the text alternative is in `layout.meta["alt"]`.

        Args:
            runs: finished runs, for a figure that `reads_runs`; by default those that come with the package.

        Raises:
            ValueError: a figure that does not read runs gets runs, one that does gets too few, or knobs do not fit
                together.
        """
        compute: Callable[..., Numbers] = self.numbers  # takes runs in a class that reads them
        if self.reads_runs:
            numbers = compute(self.example() if runs is None else runs)
        elif runs is None:
            numbers = compute()
        else:
            raise ValueError(f"{type(self).__name__} is drawn from its knobs and takes no runs.")
        drawing = self.draw(numbers)
        drawing.layout.meta = {"alt": self.alt(numbers)}
        return drawing

    def code(self) -> str:
        """Return the line of Python that makes this figure, without knobs at their default."""
        defaults = type(self.knobs)()
        arguments = [repr(name_of(type(self)))]
        for name, value in self.knobs:
            if value != getattr(defaults, name):
                arguments.append(f"{name}={value!r}")
        return f"lab.figures.create({', '.join(arguments)}).figure()"


@contextmanager
def keeping() -> Iterator[None]:
    """Cache the results of `once` inside the block."""
    token = _call.set(lru_cache(MOST)(_call.get()))
    try:
        yield
    finally:
        _call.reset(token)


def once(make: Callable[..., Result], *arguments: Hashable) -> Result:
    """Return `make(*arguments)`; inside `keeping`, the result of an earlier call with the same arguments.

    Args:
        make: a module's function whose result depends only on its arguments; callers must not change the result.

    Example:
        >>> with keeping():
        ...     once(print, "trained"), once(print, "trained")
        trained
        (None, None)
    """
    return _call.get()(make, *arguments)


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested sections under dotted names: {"loss": {"name": "sup_ap"}} gives {"loss.name": "sup_ap"}."""
    values: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            values |= flat(value, f"{name}.")
        else:
            values[name] = value
    return values


def slack(default: float, most: float = 1) -> float:
    """Declare the knob epsilon of the contextual loss for a figure."""
    description = "Slack (epsilon) by which a neighbourhood is enlarged."
    return knob(
        description,
        default=default,
        ge=0,
        le=most,
        unit="squared distance",
        source="Contextual, eq. 2",
    )


def temperature(words: str, source: str, most: float = 1) -> float:
    """Declare the knob tau, the temperature of a surrogate for the step between two similarities, for a figure."""
    return knob(words, default=0.01, ge=0.001, le=most, scale="log", unit="cosine", source=source)


def slope() -> float:
    """Declare the knob alpha of the contextual loss for a figure."""
    description = "Slope of theta in the backward pass."
    return knob(description, default=10.0, ge=0.1, le=100, scale="log", source="Contextual, eq. 1")


def curve(
    figure: PlotlyFigure,
    index: int,
    name: str | None,
    x: Any,
    y: Any,
    width: float = 2.5,
    size: float = 0,
    **more: Any,
) -> None:
    """Add a line in the index-th style, with marks if `size` is above 0; `more` are arguments of plotly's scatter."""
    if size:
        more = {"mode": "lines+markers", "marker": style.marker(index, size), **more}
    else:
        more = {"mode": "lines", **more}
    figure.add_scatter(x=x, y=y, name=name, line=style.line(index, width), **more)


def marks(
    figure: PlotlyFigure,
    index: int,
    name: str | None,
    x: Any,
    y: Any,
    size: float = 9,
    opacity: float | None = None,
    **more: Any,
) -> None:
    """Add points in the index-th style; `more` are arguments of plotly's scatter."""
    marker = {**style.marker(index, size), "opacity": opacity}
    figure.add_scatter(x=x, y=y, name=name, mode="markers", marker=marker, **more)


def arrow(
    figure: PlotlyFigure,
    start: Sequence[float],
    end: Sequence[float],
    colour: str,
    width: float = 2.5,
    **more: Any,
) -> None:
    """Add an arrow between two places of the only or the first panel; `more` are arguments of plotly's annotation."""
    figure.add_annotation(
        x=end[0],
        y=end[1],
        ax=start[0],
        ay=start[1],
        axref="x",
        ayref="y",
        text="",
        showarrow=True,
        arrowhead=2,
        arrowwidth=width,
        arrowcolor=colour,
        **more,
    )


def panel(column: int, name: str) -> dict[str, Any]:
    """Return the position of a trace in the column-th panel; the legend lists traces that share a name once."""
    return {"legendgroup": name, "showlegend": column == 1, "row": 1, "col": column}
