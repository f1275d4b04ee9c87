"""A figure with its controls, in a notebook; in words, or with LAB_STILLS=1 as a picture, where no kernel runs.

A picture takes a browser of its own, a gigabyte of memory and seconds, and whoever runs the notebook does not see it:
so only `scripts/render_notebooks.py` asks for it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import lab.figures
from lab.core.style import VERMILLION
from lab.figures import Figure

if TYPE_CHECKING:
    import ipywidgets as widgets


class Live:
    """A figure whose knobs move. Displays itself; `set` moves the knobs from code.

    figure: the entry of `lab.figures` with the knobs of the moment.
    """

    def __init__(self, figure: Figure, runs: Sequence | None = None):
        self.figure, self._runs = figure, runs
        self._start = figure.knobs
        self._drawn = figure.figure(runs)
        self._widget = None

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
        if self._widget is not None:
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
        return self._widget

    def _build(self) -> widgets.VBox:
        import ipywidgets as widgets

        from lab.widgets._drawing import Drawing
        from lab.widgets._panel import Panel

        kind = type(self.figure)
        self._drawing = Drawing(self._drawn, self.figure.code(), self.reset, self._clicked)
        self._panel = Panel(self.figure, self._moved)
        self._words = widgets.HTML()
        question = widgets.HTML(f"<b>{escape(kind.question)}</b>")
        self._describe()
        return widgets.VBox([question, *self._panel.boxes, self._drawing, self._words])

    def _moved(self, values: dict[str, Any]) -> None:
        """A control moved."""
        if type(self.figure).tier not in ("instant", "static"):
            self._say("computing ...")
        try:
            self._redraw(type(self.figure)(**values))
        except ValueError as error:
            self._say(f"<span style='color:{VERMILLION}'>✗ {escape(str(error))}</span>")

    def _clicked(self, x: Any, y: Any) -> None:
        """A mark was clicked."""
        changed = self.figure.clicked(x, y)
        if changed:
            self.set(**changed)

    def _redraw(self, figure: Figure) -> None:
        if figure.knobs == self.figure.knobs:
            return
        self._drawn = figure.figure(self._runs)
        self.figure = figure
        if self._widget is not None:
            self._drawing.redraw(self._drawn, figure.code())
            self._describe()

    def _describe(self) -> None:
        self._say(escape(self.alt))

    def _say(self, html: str) -> None:
        self._words.value = f"<div role='status' aria-live='polite' style='font-size:13px'>{html}</div>"

    def __repr__(self) -> str:
        title = type(self.figure).title
        return f"{title}{'' if title[-1] in '.?!' else '.'} {self.alt}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        data = self.widget()._repr_mimebundle_()
        bundle = {**(data[0] if isinstance(data, tuple) else data), "text/plain": repr(self)}
        if os.environ.get("LAB_STILLS"):
            return {**bundle, "image/png": base64.b64encode(self.png()).decode()}
        return {**bundle, "text/html": f"<p>{escape(repr(self))}</p>"}


def show(figure: str | Figure, runs: Sequence | None = None, **knobs: Any) -> Live:
    """A live figure for the notebook: controls made from its declared knobs, reset, and copy as code.

    Args:
        figure: a name of `lab.figures.names()`, or a figure made with `lab.figures.create`.
        runs: finished runs, as `lab.runs.list()` returns them, for a figure that shows runs.
        knobs: where the knobs start.

    Raises:
        ValueError: unknown figure or knob, a value out of range, or no runs for a figure that shows them.
    """
    if isinstance(figure, str):
        return Live(lab.figures.create(figure, **knobs), runs)
    return Live(type(figure)(**{**dict(figure.knobs), **knobs}), runs)
