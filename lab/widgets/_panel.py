"""All controls of one figure, arranged; reports the values of every knob when one moves."""

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

    boxes: what to show, top to bottom.
    """

    def __init__(self, figure: Figure, moved: Callable[[dict[str, Any]], None], runs: Sequence | None = None):
        kind, values = type(figure), dict(figure.knobs)
        self._moved, self._quiet = moved, False
        self._grips = None
        if kind.drag:
            self._grips = PointGrips(figure)
            self._grips.widget.observe(self._changed, ["x", "y", "classes"])
        live = kind.tier in ("instant", "static")
        self._controls: dict[str, Control] = {}
        grids = []
        for knobs in figure.controls(runs):
            made = {one.name: control(one, values[one.name], live, plays=one.name == kind.plays) for one in knobs}
            layout = {"grid_template_columns": "repeat(auto-fit, minmax(320px, 1fr))", "grid_gap": "0 18px"}
            grids.append(widgets.GridBox([one.box for one in made.values()], layout=layout))
            self._controls |= made
        for one in self._controls.values():
            for field in one.watched:
                field.observe(self._changed, "value")
        grid, folded = grids
        self._folded = widgets.Accordion([folded], titles=("More settings",))
        self.boxes = [grid] if self._grips is None else self._grips.beside(grid)
        self.boxes += [self._folded] * bool(folded.children)
        self.hide(figure.idle(runs))

    def hide(self, idle: Collection[str]) -> None:
        """Show the controls of all knobs but these."""
        for name, one in self._controls.items():
            one.box.layout.display = "none" if name in idle else None
        shown = [box for box in self._folded.children[0].children if box.layout.display is None]
        self._folded.layout.display = None if shown else "none"

    def _changed(self, _: object) -> None:
        if not self._quiet:
            with self._silence():
                values = self.read()
            self._moved(values)

    def read(self) -> dict[str, Any]:
        """The value of every knob."""
        values = {name: one.read() for name, one in self._controls.items()}
        return {**values, **self._grips.read(values)} if self._grips else values

    def write(self, values: dict[str, Any]) -> None:
        """Move every control without reporting."""
        with self._silence():
            for name, one in self._controls.items():
                one.write(values[name])
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
    """Points of some classes in the plane, dragged by mouse or by keys.

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


class PointGrips:
    """Dragged points, as knobs. The knobs stay empty, and the points follow the figure's own, until one is dragged; a
    knob that moves the figure's own points takes the dragged ones back."""

    def __init__(self, figure: Figure):
        self._kind: Any = type(figure)  # one with `points`
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
        now = tuple(self.widget.x), tuple(self.widget.y), self.widget.classes
        places = ((), (), "") if now == self._start else now
        return dict(zip(self._names, places, strict=False))

    def write(self, values: dict[str, Any]) -> None:
        others = {name: value for name, value in values.items() if name not in self._names}
        self._start = self._places(others)
        places = tuple(values[name] for name in self._names)
        self._put(self._places(values) if any(places) else self._start)

    def _places(self, values: dict[str, Any]) -> tuple:
        points, labels = self._kind(**values).points()
        return tuple(points[:, 0].round(4).tolist()), tuple(points[:, 1].round(4).tolist()), "".join(letters(labels))

    def _put(self, places: tuple) -> None:
        with self.widget.hold_trait_notifications():
            self.widget.x, self.widget.y, self.widget.classes = list(places[0]), list(places[1]), places[2]
