"""A plotly figure in the notebook: numbered messages to the browser, of which the newest always arrives."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from lab.core import style
from lab.figures import Figure, PlotlyFigure, live_page

HERE = Path(__file__).parent


class PlotlyLibrary(anywidget.AnyWidget):
    """Sends plotly.js of the installed package to the page once per kernel, without a request to any other host."""

    _esm = "export default {}"
    packed = traitlets.Bytes().tag(sync=True)


_libraries: list[PlotlyLibrary] = []


def plotly_library() -> PlotlyLibrary:
    """Return the `PlotlyLibrary` of this kernel; make a new one if it was closed."""
    if not _libraries or _libraries[0].comm is None:
        from plotly.offline import get_plotlyjs

        packed = gzip.compress(get_plotlyjs().encode(), 6, mtime=0)
        _libraries[:] = [PlotlyLibrary(packed=packed)]
    return _libraries[0]


class Drawing(anywidget.AnyWidget):
    """A figure, a button that resets it and a button that copies its line of Python.

    The browser draws one message at a time and reports when it is done. Until then the kernel holds the next message
    back, and a newer one replaces it: if a slider moves faster than the browser draws, pictures are skipped, but never
    the last. A browser that may have missed a message reports which one it shows, and gets the newest.

    post: the mailbox; its value is the newest message sent, {"number", "figure", "code"}.
    inks: the colour that replaces each colour in JupyterLab's dark theme.
    """

    _esm = HERE / "drawing.js"
    _css = HERE / "drag.css"
    post = traitlets.Instance(ipywidgets.Label).tag(sync=True, **ipywidgets.widget_serialization)
    library = traitlets.Instance(PlotlyLibrary).tag(sync=True, **ipywidgets.widget_serialization)
    inks = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        figure: PlotlyFigure,
        code: str,
        reset: Callable[[], None],
        clicked: Callable[[Any, Any], None],
    ):
        self._newest = (figure, code)
        self._number = 1
        self._sent = 1
        self._drawn = 0
        self._watched = False
        self._do_reset = reset
        self._do_click = clicked
        message = ipywidgets.Label(value=self._message())
        super().__init__(post=message, library=plotly_library(), inks=style.IN_THE_DARK)
        self.on_msg(self._receive)

    def redraw(self, figure: PlotlyFigure, code: str) -> None:
        """Show another figure: now, or when the browser has drawn the previous one."""
        self._newest = figure, code
        self._number += 1
        if not self._watched or self._drawn >= self._sent:
            self._post_newest()

    def _message(self) -> str:
        figure, code = self._newest
        return f'{{"number": {self._number}, "code": {json.dumps(code)}, "figure": {figure.to_json(validate=False)}}}'

    def _post_newest(self) -> None:
        self._sent = self._number
        self.post.value = self._message()

    def _receive(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Handle a report of the browser: a message was drawn or is shown, or the user pressed reset or clicked."""
        if "reset" in content:
            self._do_reset()
        elif "clicked" in content:
            self._do_click(*content["clicked"])
        else:
            self._watched = True
            self._drawn = content.get("drawn", self._drawn)
            if self._sent < self._number:
                self._post_newest()
            elif content.get("shown", self._sent) != self._sent:
                self.post.send_state("value")  # the message was sent before, and lost
            if "shown" in content:
                self.post.send({"newest": self._number})


class Computed(anywidget.AnyWidget):
    """A figure that the page computes without the kernel, with its controls; the kernel receives the knobs' values.

    form: packed data that the page computes from.
    knobs: values of the knobs, set by the user or by `move`.
    post: the mailbox; its value is the newest move of the kernel, {"number", "knobs", "picture", "asked"}.
    """

    _esm = HERE / "in_notebook.js"
    _css = HERE / "drag.css"
    form = traitlets.Unicode().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)
    post = traitlets.Instance(ipywidgets.Label).tag(sync=True, **ipywidgets.widget_serialization)
    library = traitlets.Instance(PlotlyLibrary).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, figure: Figure, moved: Callable[[dict[str, Any]], None]):
        self._number = 0
        form = live_page.form(figure).decode()
        super().__init__(form=form, post=ipywidgets.Label(), library=plotly_library())
        self.move(figure)
        self.observe(lambda change: moved(change["new"]), "knobs")

    def move(self, figure: Figure, asked: bool = False) -> None:
        """Show the figure with these knobs.

        Args:
            asked: whether the page set these knobs itself and needs only the picture.
        """
        self._number += 1
        self.knobs = dict(figure.knobs)
        message = {
            "number": self._number,
            "knobs": self.knobs,
            "picture": live_page.beyond(figure),
            "asked": asked,
        }
        self.post.value = json.dumps(message)
