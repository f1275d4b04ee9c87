"""The parts with JavaScript of their own: controls that are dragged, by mouse or by keys."""

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
