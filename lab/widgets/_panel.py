"""The panel of all controls of a figure; it reports the values of all knobs when one of them moves."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from lab.figures import Figure
from lab.figures.points import letters
from lab.widgets._controls import Control, control

HERE = Path(__file__).parent


class Panel:
    """The controls of a figure.

    boxes: the widgets to show, from top to bottom.
    """

    def __init__(
        self, figure: Figure, moved: Callable[[dict[str, Any]], None], runs: Sequence | None = None
    ):
        kind = type(figure)
        values = dict(figure.knobs)
        self._moved = moved
        self._quiet = False
        self._grips = None
        if kind.drag:
            self._grips = PointGrips(figure)
            self._grips.widget.observe(self._changed, ["x", "y", "classes"])
        live = kind.tier in ("instant", "static")
        self._controls: dict[str, Control] = {}
        grids = []
        for knobs in figure.controls(runs):
            boxes = []
            for knob in knobs:
                self._controls[knob.name] = control(
                    knob, values[knob.name], live, plays=knob.name == kind.plays
                )
                boxes.append(self._controls[knob.name].box)
            layout = {
                "grid_template_columns": "repeat(auto-fit, minmax(320px, 1fr))",
                "grid_gap": "0 18px",
            }
            grids.append(widgets.GridBox(boxes, layout=layout))
        for knob_control in self._controls.values():
            for field in knob_control.watched:
                field.observe(self._changed, "value")

        grid, folded = grids
        self._folded = widgets.Accordion([folded], titles=("More settings",))
        if self._grips is None:
            self.boxes = [grid]
        else:
            self.boxes = self._grips.beside(grid)
        if folded.children:
            self.boxes.append(self._folded)
        self.hide(figure.idle(runs))

    def hide(self, idle: Collection[str]) -> None:
        """Hide the controls of these knobs, and show all others."""
        for name, knob_control in self._controls.items():
            knob_control.box.layout.display = "none" if name in idle else None
        shown = [box for box in self._folded.children[0].children if box.layout.display is None]
        self._folded.layout.display = None if shown else "none"

    def _changed(self, _: object) -> None:
        if not self._quiet:
            with self._silence():
                values = self.read()
            self._moved(values)

    def read(self) -> dict[str, Any]:
        """Return the values of all knobs."""
        values = {name: knob_control.read() for name, knob_control in self._controls.items()}
        if self._grips:
            values |= self._grips.read(values)
        return values

    def write(self, values: dict[str, Any]) -> None:
        """Set all controls without reporting a change."""
        with self._silence():
            for name, knob_control in self._controls.items():
                knob_control.write(values[name])
            if self._grips:
                self._grips.write(values)

    @contextmanager
    def _silence(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False


class Dots(anywidget.AnyWidget):
    """Points in the plane that the user drags by mouse or keyboard.

    x, y: coordinates.
    classes: one letter per point.
    fixed: whether only the places change, and not the number and classes of the points.
    """

    _esm = HERE / "points.js"
    _css = HERE / "drag.css"
    x = traitlets.List(traitlets.Float()).tag(sync=True)
    y = traitlets.List(traitlets.Float()).tag(sync=True)
    classes = traitlets.Unicode().tag(sync=True)
    fixed = traitlets.Bool(False).tag(sync=True)


class PointGrips:
    """Dragged points as values of knobs.

    Until the user drags a point, these knobs are empty and the points are those of the figure. If another knob changes
    the figure's points, dragged points are discarded.
    """

    def __init__(self, figure: Figure):
        self._kind: Any = type(figure)  # a class with the method `points`
        self._start: tuple = ()
        self._names = self._kind.drag
        self.widget = Dots(fixed=len(self._names) == 2)
        self.write(dict(figure.knobs))

    def beside(self, grid: widgets.Widget) -> list[widgets.Widget]:
        self.widget.layout = {"flex": "1 1 320px", "max_width": "420px"}
        grid.layout.flex = "2 1 340px"
        row = {"flex_flow": "row wrap", "grid_gap": "0 18px", "align_items": "flex-start"}
        return [widgets.HBox([self.widget, grid], layout=row)]

    def read(self, others: dict[str, Any]) -> dict[str, Any]:
        start = self._places(others)
        if start != self._start:
            self._start = start
            self._put(start)
        places: tuple = tuple(self.widget.x), tuple(self.widget.y), self.widget.classes
        if places == self._start:  # nothing was dragged
            places = ((), (), "")
        return dict(zip(self._names, places, strict=False))

    def write(self, values: dict[str, Any]) -> None:
        others = {name: value for name, value in values.items() if name not in self._names}
        self._start = self._places(others)
        if any(values[name] for name in self._names):
            self._put(self._places(values))
        else:
            self._put(self._start)

    def _places(self, values: dict[str, Any]) -> tuple:
        """Return x, y and classes of the figure's points with these knobs."""
        points, labels = self._kind(**values).points()
        x = tuple(points[:, 0].round(4).tolist())
        y = tuple(points[:, 1].round(4).tolist())
        return x, y, "".join(letters(labels))

    def _put(self, places: tuple) -> None:
        with self.widget.hold_trait_notifications():
            self.widget.x = list(places[0])
            self.widget.y = list(places[1])
            self.widget.classes = places[2]
