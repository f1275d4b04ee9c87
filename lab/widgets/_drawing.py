"""A plotly figure in the notebook that is redrawn in place: only what changed travels to the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go


class Drawing:
    """A `FigureWidget` that follows a sequence of figures.

    widget: the `plotly.graph_objects.FigureWidget` to show.
    clicked: called with the place (x, y) of a mark that was clicked.
    """

    def __init__(self, figure: go.Figure, clicked: Callable[[Any, Any], None]):
        self._drawn, self._clicked = _parts(figure), clicked
        self.widget = go.FigureWidget(figure)
        self.widget.layout.autosize = True
        self.widget._config = {"responsive": True, "displaylogo": False}
        self._listen()

    def redraw(self, figure: go.Figure) -> None:
        """Make the widget show another figure; traces of the same number and types are updated, not replaced."""
        traces, layout = _parts(figure)
        old_traces, old_layout = self._drawn
        with self.widget.batch_update():
            if _kinds(traces) == _kinds(old_traces):
                for trace, new, old in zip(self.widget.data, traces, old_traces, strict=True):
                    _change(trace, new, old)
            else:
                self.widget.data = ()
                self.widget.add_traces(figure.data)
                self._listen()
            _change(self.widget.layout, layout, old_layout)
        self._drawn = traces, layout

    def _listen(self) -> None:
        for trace in self.widget.data:
            trace.on_click(self._point)

    def _point(self, trace: Any, points: Any, state: Any) -> None:
        if points.xs:
            self._clicked(points.xs[0], points.ys[0])


def _parts(figure: go.Figure) -> tuple[list[dict], dict]:
    """Traces and layout as plain dictionaries; arrays stay arrays."""
    return [trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json()


def _kinds(traces: list[dict]) -> list[tuple]:
    return [(t["type"], t.get("xaxis"), t.get("yaxis")) for t in traces]


def _change(target: Any, new: dict, old: dict) -> None:
    for key in old.keys() - new.keys():
        target[key] = None
    for key, value in new.items():
        if key not in old or not _same(value, old[key]):
            target[key] = value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and a == b
