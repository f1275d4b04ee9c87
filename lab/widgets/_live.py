"""A figure with its controls in a notebook; without a kernel it is text, or with LAB_STILLS=1 a picture.

A picture needs a browser, a gigabyte of memory and some seconds, and a person who runs the notebook does not see it.
So only `scripts/render_notebooks.py` requests pictures.
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
    """A figure with controls. It displays itself; `set` moves the knobs from code.

    figure: the entry of `lab.figures` with the current knobs.
    """

    def __init__(self, figure: Figure, runs: Sequence | None = None):
        self.figure = figure
        self._runs = runs
        self._start = figure.knobs
        self._widget = None
        self._training: FigureTraining | None = None
        self._picture: go.Figure | None = None
        self._in_page = runs is None and live_page.has_form(type(figure))
        self._begin(figure)

    @property
    def _drawn(self) -> go.Figure:
        """The current picture; waits for a training to end."""
        if self._picture is not None:
            return self._picture
        if self._training is not None:
            picture = self._training.figure()
        else:  # the page has moved the knobs without the kernel
            picture = self.figure.figure(self._runs)
        self._picture = picture
        return picture

    def _begin(self, figure: Figure) -> None:
        """Draw now; in a notebook, start a figure's training in the background instead."""
        from lab.figures import background

        if not (_in_a_notebook() and background.can_train(figure)):
            self._picture = figure.figure(self._runs)
            self._training = None
            self.figure = figure
            return

        former = self._training
        self._training = None  # so that `_on_progress` ignores the end of the former training
        if former is not None:
            former.stop()
        self._picture = None
        self.figure = figure
        self._training = background.FigureTraining(figure, self._on_progress)
        self._on_progress(self._training)  # its first reports came before it was stored here

    @property
    def alt(self) -> str:
        """The figure in words."""
        return self._drawn.layout.meta["alt"]

    def set(self, **knobs: Any) -> None:
        """Set some knobs; the others keep their values.

        Raises:
            ValueError: a knob is unknown, a value is out of range, or knobs do not fit together.
        """
        values = {**dict(self.figure.knobs), **knobs}
        self._redraw(type(self.figure)(**values))
        if self._widget is not None and self._in_page:
            self._computed.move(self.figure)
        elif self._widget is not None:
            self._panel.write(dict(self.figure.knobs))

    def reset(self) -> None:
        """Set all knobs to their initial values."""
        self.set(**dict(self._start))

    def png(self, width: int = 900) -> bytes:
        """Return the current figure as a static picture.

        Raises:
            ValueError: there is no browser to draw with.
        """
        from lab.figures.saving import picture

        return picture(self._drawn, "png", width)

    def widget(self) -> widgets.VBox:
        """Return controls, figure and text as one ipywidget."""
        if self._widget is None:
            self._widget = self._build()
            if self._training is not None:
                self._on_progress(self._training)
        return self._widget

    def _build(self) -> widgets.VBox:
        import ipywidgets as widgets

        from lab.widgets._drawing import Computed, Drawing
        from lab.widgets._panel import Panel

        kind = type(self.figure)
        question = widgets.HTML(f"<b>{escape(kind.question)}</b>")
        if self._in_page:
            self._computed = Computed(self.figure, self._moved_in_page)
            return widgets.VBox([question, self._computed])

        if self._picture is None:
            first = _blank(kind.title, "in training")
        else:
            first = self._picture
        self._drawing = Drawing(first, self.figure.code(), self.reset, self._clicked)
        self._panel = Panel(self.figure, self._moved, self._runs)
        self._words = widgets.HTML()
        bar = widgets.FloatProgress(min=0, max=1, description="Training", layout={"width": "60%"})
        button = widgets.Button(
            description="Stop", tooltip="End this training", layout={"width": "8em"}
        )
        button.on_click(self._pressed)
        self._progress = widgets.HBox([bar, button], layout={"display": "none"})
        if self._training is None:
            self._describe()
        return widgets.VBox(
            [question, *self._panel.boxes, self._progress, self._drawing, self._words]
        )

    def _clicked(self, x: Any, y: Any) -> None:
        """Handle a click on a mark of the figure."""
        self.set(**self.figure.clicked(x, y))

    def _on_progress(self, training: FigureTraining) -> None:
        """Show the progress of a training; the training's thread calls it."""
        if self._widget is None or training is not self._training:
            return
        bar, button = self._progress.children
        bar.value = training.progress
        button.description = "Train again" if training.over else "Stop"
        if training.over and not training.refused:
            self._progress.layout.display = "none"
        else:
            self._progress.layout.display = ""
        if training.waiting and not training.over:
            self._say("Waiting for the trainings of other figures ...")
        elif not training.over:
            self._say("Training ...")
        elif training.refused:
            self._drawing.redraw(_blank(type(self.figure).title, "no picture"), self.figure.code())
            self._say(f"<span style='color:{VERMILLION}'>{escape(training.refused)}</span>")
        else:
            self._drawing.redraw(self._drawn, self.figure.code())
            self._describe()

    def _pressed(self, _: widgets.Button) -> None:
        """Handle the button beside the bar: end the training, or start it again."""
        assert self._training is not None
        if self._training.over:
            self._begin(self.figure)
        else:
            self._training.stop()

    def _moved(self, values: dict[str, Any]) -> None:
        """Handle a control that moved."""
        if type(self.figure).tier not in ("instant", "static"):
            self._say("Computing ...")
        try:
            self._redraw(type(self.figure)(**values))
        except ValueError as error:
            self._say(f"<span style='color:{VERMILLION}'>✗ {escape(str(error))}</span>")

    def _moved_in_page(self, knobs: dict[str, Any]) -> None:
        """Handle knobs that the page moved itself; it has drawn the figure already, if it can compute it."""
        figure = type(self.figure)(**knobs)
        if figure.knobs != self.figure.knobs:
            self.figure = figure
            self._picture = None
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
        self._words.value = (
            f"<div role='status' aria-live='polite' style='font-size:13px'>{html}</div>"
        )

    def __repr__(self) -> str:
        title = type(self.figure).title
        if title[-1] not in ".?!":
            title += "."
        if self._training is not None and (self._training.refused or not self._training.over):
            return f"{title} In training."
        return f"{title} {self.alt}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle = {**self.widget()._repr_mimebundle_(), "text/plain": repr(self)}
        if os.environ.get("LAB_STILLS"):
            bundle["image/png"] = base64.b64encode(self.png()).decode()
        else:
            bundle["text/html"] = f"<p>{escape(repr(self))}</p>"
        return bundle


def _in_a_notebook() -> bool:
    """Whether a notebook's kernel runs this and can show progress. False when stills are rendered: they wait anyway."""
    if os.environ.get("LAB_STILLS") or "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _blank(title: str, state: str) -> go.Figure:
    """Return the placeholder of a figure that is not computed yet; it has no axes, since there are no data."""
    placeholder = style.canvas(title, state, height=160)
    placeholder.update_xaxes(visible=False)
    placeholder.update_yaxes(visible=False)
    placeholder.layout.meta = {"alt": f"{state.capitalize()}."}
    return placeholder


def show(figure: str | Figure, runs: Sequence | None = None, **knobs: Any) -> Live | widgets.HTML:
    """Return a live figure for the notebook, with controls for its knobs, a reset button and its line of code.

    Args:
        figure: a name of `lab.figures.names()`, a figure made with `lab.figures.create`, or `"playground"`, whose
            knobs are those that `lab.playground.page` takes as `start`.
        runs: finished runs, as `lab.runs.list()` returns them, for a figure that shows runs.
        knobs: initial values of the knobs.

    Raises:
        ValueError: a figure or knob is unknown, a value is out of range, or a figure that shows runs gets none.
    """
    if figure == "playground":
        import ipywidgets as widgets

        return widgets.HTML(lab.playground.frame(**knobs))
    if isinstance(figure, str):
        return Live(lab.figures.create(figure, **knobs), runs)
    return Live(type(figure)(**{**dict(figure.knobs), **knobs}), runs)
