"""The parts with JavaScript of their own: controls that are dragged, by mouse or by keys, and two helpers."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

HERE = Path(__file__).parent


class Strip(anywidget.AnyWidget):
    """A ranked list on its similarity axis.

    scores: similarity of each item to the query, -1..1.
    pattern: one + (same label) or - (other label) per score.
    """

    _esm = HERE / "strip.js"
    _css = HERE / "drag.css"
    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    pattern = traitlets.Unicode().tag(sync=True)


class Points(anywidget.AnyWidget):
    """Points of some classes in the plane.

    x, y: coordinates.
    classes: one letter a point.
    fixed: points move but their number and classes stay.
    """

    _esm = HERE / "points.js"
    _css = HERE / "drag.css"
    x = traitlets.List(traitlets.Float()).tag(sync=True)
    y = traitlets.List(traitlets.Float()).tag(sync=True)
    classes = traitlets.Unicode().tag(sync=True)
    fixed = traitlets.Bool(False).tag(sync=True)


class CopyButton(anywidget.AnyWidget):
    """Copies `text` and shows it, so that it can also be selected by hand."""

    _esm = HERE / "copy.js"
    _css = HERE / "drag.css"
    text = traitlets.Unicode().tag(sync=True)


class Fit(anywidget.AnyWidget):
    """Makes the plotly figures beside it as wide as the cell; shows nothing."""

    _esm = HERE / "fit.js"
