"""A figure with its controls, in a notebook; in words, or with LAB_STILLS=1 as a picture, where no kernel runs.

A picture takes a browser of its own, a gigabyte of memory and seconds, and whoever runs the notebook does not see it:
so only `scripts/render_notebooks.py` asks for it.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import lab.figures
import lab.playground
from lab.core import style
from lab.core.style import VERMILLION
from lab.figures import Figure, live_page

if TYPE_CHECKING:
    import ipywidgets as widgets
    import plotly.graph_objects as go

    from lab.figures.background import FigureTraining


class Live:
    """A figure whose knobs move. Displays itself; `set` moves the knobs from code.

    figure: the entry of `lab.figures` with the knobs of the moment.
    """

    def __init__(self, figure: Figure, runs: Sequence | None = None):
        self.figure, self._runs = figure, runs
        self._start = figure.knobs
        self._widget = None
        self._training: FigureTraining | None = None
        self._picture: go.Figure | None = None
        self._in_page = runs is None and live_page.has_form(type(figure))
        self._begin(figure)

    @property
    def _drawn(self) -> go.Figure:
        """The picture of the moment; waits for a training."""
        if self._picture is None and self._training is not None:
            self._picture = self._training.figure()
        elif self._picture is None:  # the page has moved on by itself
            self._picture = self.figure.figure(self._runs)
        assert self._picture is not None
        return self._picture

    def _begin(self, figure: Figure) -> None:
        """Draw now, or begin to train where somebody can watch it."""
        from lab.figures import background

        if _in_a_notebook() and background.can_train(figure):
            former, self._training = self._training, None  # so that its end is not told any more
            if former is not None:
                former.stop()
            self._picture = None
            self.figure = figure
            self._training = background.FigureTraining(figure, self._news)
            self._news(self._training)  # what came before it had its place here
        else:
            self._picture, self._training = figure.figure(self._runs), None
            self.figure = figure

    @property
    def alt(self) -> str:
        """What the figure shows, in words."""
        return self._drawn.layout.meta["alt"]

    def set(self, **knobs: Any) -> None:
        """Move knobs; the others stay.

        Raises:
            ValueError: an unknown knob, a value out of range, or knobs that do not go together.
        """
        values = {**dict(self.figure.knobs), **knobs}
        self._redraw(type(self.figure)(**values))
        if self._widget is not None and self._in_page:
            self._computed.move(self.figure)
        elif self._widget is not None:
            self._panel.write(dict(self.figure.knobs))

    def reset(self) -> None:
        """Back to where the knobs started."""
        self.set(**dict(self._start))

    def png(self, width: int = 900) -> bytes:
        """The figure of the moment as a static picture.

        Raises:
            ValueError: there is no browser to draw with.
        """
        from lab.figures.saving import picture

        return picture(self._drawn, "png", width)

    def widget(self) -> widgets.VBox:
        """Controls, figure and words as one ipywidget."""
        if self._widget is None:
            self._widget = self._build()
            if self._training is not None:
                self._news(self._training)
        return self._widget

    def _build(self) -> widgets.VBox:
        import ipywidgets as widgets

        from lab.widgets._drawing import Computed, Drawing
        from lab.widgets._panel import Panel

        kind = type(self.figure)
        question = widgets.HTML(f"<b>{escape(kind.question)}</b>")
        if self._in_page:
            self._computed = Computed(self.figure, self._left)
            return widgets.VBox([question, self._computed])
        first = _blank(kind.title, "in training") if self._picture is None else self._picture
        self._drawing = Drawing(
            first, self.figure.code(), self.reset, lambda x, y: self.set(**self.figure.clicked(x, y))
        )
        self._panel = Panel(self.figure, self._moved, self._runs)
        self._words = widgets.HTML()
        bar = widgets.FloatProgress(min=0, max=1, description="Training", layout={"width": "60%"})
        button = widgets.Button(description="Stop", tooltip="End this training", layout={"width": "8em"})
        button.on_click(self._pressed)
        self._progress = widgets.HBox([bar, button], layout={"display": "none"})
        built = widgets.VBox([question, *self._panel.boxes, self._progress, self._drawing, self._words])
        if self._training is None:
            self._describe()
        return built

    def _news(self, training: FigureTraining) -> None:
        """A training has moved on; called from its thread."""
        if self._widget is None or training is not self._training:
            return
        bar, button = self._progress.children
        bar.value, button.description = training.progress, "Train again" if training.over else "Stop"
        self._progress.layout.display = "none" if training.over and not training.refused else ""
        if not training.over:
            self._say("Waiting for the trainings of other figures ..." if training.waiting else "Training ...")
        elif training.refused:
            self._drawing.redraw(_blank(type(self.figure).title, "no picture"), self.figure.code())
            self._say(f"<span style='color:{VERMILLION}'>{escape(training.refused)}</span>")
        else:
            self._drawing.redraw(self._drawn, self.figure.code())
            self._describe()

    def _pressed(self, _: widgets.Button) -> None:
        """The button beside the bar ends a training, or begins it anew."""
        assert self._training is not None
        if self._training.over:
            self._begin(self.figure)
        else:
            self._training.stop()

    def _moved(self, values: dict[str, Any]) -> None:
        """A control moved."""
        if type(self.figure).tier not in ("instant", "static"):
            self._say("Computing ...")
        try:
            self._redraw(type(self.figure)(**values))
        except ValueError as error:
            self._say(f"<span style='color:{VERMILLION}'>✗ {escape(str(error))}</span>")

    def _left(self, knobs: dict[str, Any]) -> None:
        """The page has moved knobs, and drawn them where it can."""
        figure = type(self.figure)(**knobs)
        if figure.knobs != self.figure.knobs:
            self.figure, self._picture = figure, None
            if not live_page.computes_in_page(figure):
                self._computed.move(figure, asked=True)

    def _redraw(self, figure: Figure) -> None:
        if figure.knobs == self.figure.knobs:
            return
        self._begin(figure)
        if self._widget is None or self._in_page:
            return
        self._panel.hide(figure.idle(self._runs))
        if self._training is None:
            self._progress.layout.display = "none"
            self._drawing.redraw(self._drawn, figure.code())
            self._describe()

    def _describe(self) -> None:
        self._say(escape(self.alt))

    def _say(self, html: str) -> None:
        self._words.value = f"<div role='status' aria-live='polite' style='font-size:13px'>{html}</div>"

    def __repr__(self) -> str:
        title = type(self.figure).title
        waiting = self._training is not None and (self._training.refused or not self._training.over)
        return f"{title}{'' if title[-1] in '.?!' else '.'} {'In training.' if waiting else self.alt}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle = {**self.widget()._repr_mimebundle_(), "text/plain": repr(self)}
        if os.environ.get("LAB_STILLS"):
            return {**bundle, "image/png": base64.b64encode(self.png()).decode()}
        return {**bundle, "text/html": f"<p>{escape(repr(self))}</p>"}


def _in_a_notebook() -> bool:
    """Whether a kernel runs this, so that a bar can be watched; not where stills are made, which wait anyway."""
    if os.environ.get("LAB_STILLS") or "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _blank(title: str, state: str) -> go.Figure:
    """What stands in a figure's place while there is none: no axes, for nothing has been measured."""
    drawn = style.canvas(title, state, height=160)
    drawn.update_xaxes(visible=False)
    drawn.update_yaxes(visible=False)
    drawn.layout.meta = {"alt": f"{state.capitalize()}."}
    return drawn


def show(figure: str | Figure, runs: Sequence | None = None, **knobs: Any) -> Live | widgets.HTML:
    """A live figure for the notebook: controls made from its declared knobs, reset, and copy as code.

    Args:
        figure: a name of `lab.figures.names()`, a figure made with `lab.figures.create`, or `"playground"`, whose
            knobs are what `lab.playground.page` takes as `start`.
        runs: finished runs, as `lab.runs.list()` returns them, for a figure that shows runs.
        knobs: where the knobs start.

    Raises:
        ValueError: unknown figure or knob, a value out of range, or no runs for a figure that shows them.
    """
    if figure == "playground":
        import ipywidgets as widgets

        return widgets.HTML(lab.playground.frame(**knobs))
    if isinstance(figure, str):
        return Live(lab.figures.create(figure, **knobs), runs)
    return Live(type(figure)(**{**dict(figure.knobs), **knobs}), runs)
