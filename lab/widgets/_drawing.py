"""A plotly figure in the notebook: numbered letters to the browser, of which the newest always gets there."""

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


class Library(anywidget.AnyWidget):
    """Brings plotly.js of the installed package to the page: once a kernel, with no request to any other host."""

    _esm = "export default {}"
    packed = traitlets.Bytes().tag(sync=True)


_library: list[Library] = []


def library() -> Library:
    """The one `Library` of this kernel; another if somebody has closed it."""
    if not _library or _library[0].comm is None:
        from plotly.offline import get_plotlyjs

        _library[:] = [Library(packed=gzip.compress(get_plotlyjs().encode(), 6, mtime=0))]
    return _library[0]


class Drawing(anywidget.AnyWidget):
    """A figure, a button that resets it and one that copies its line of Python.

    The browser draws one letter at a time and says when it has. Until then the kernel keeps the next to itself and a
    newer one replaces it: a hand that moves faster than the browser draws skips pictures, never the last. A browser
    that may have missed a letter says which it shows, and gets the newest.

    post: the mailbox; its value is the newest letter sent, {"number", "figure", "code"}.
    inks: what becomes of each colour in JupyterLab's dark theme.
    """

    _esm = HERE / "drawing.js"
    _css = HERE / "drag.css"
    post = traitlets.Instance(ipywidgets.Label).tag(sync=True, **ipywidgets.widget_serialization)
    library = traitlets.Instance(Library).tag(sync=True, **ipywidgets.widget_serialization)
    inks = traitlets.Dict().tag(sync=True)

    def __init__(self, figure: PlotlyFigure, code: str, reset: Callable[[], None], clicked: Callable[[Any, Any], None]):
        self._newest, self._number = (figure, code), 1
        self._sent, self._drawn = 1, 0
        self._watched = False
        self._do_reset, self._do_click = reset, clicked
        super().__init__(post=ipywidgets.Label(value=self._letter()), library=library(), inks=style.IN_THE_DARK)
        self.on_msg(self._heard)

    def redraw(self, figure: PlotlyFigure, code: str) -> None:
        """Show another figure: now, or once the browser has drawn the one before."""
        self._newest = figure, code
        self._number += 1
        if not self._watched or self._drawn >= self._sent:
            self._post_newest()

    def _letter(self) -> str:
        figure, code = self._newest
        return f'{{"number": {self._number}, "code": {json.dumps(code)}, "figure": {figure.to_json(validate=False)}}}'

    def _post_newest(self) -> None:
        self._sent = self._number
        self.post.value = self._letter()

    def _heard(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """What the browser says: it has drawn a letter, shows one, or somebody pressed or clicked."""
        if "reset" in content:
            self._do_reset()
        elif "clicked" in content:
            self._do_click(*content["clicked"])
        else:
            self._watched, self._drawn = True, content.get("drawn", self._drawn)
            if self._sent < self._number:
                self._post_newest()
            elif content.get("shown", self._sent) != self._sent:
                self.post.send_state("value")  # it was sent before, and lost
            if "shown" in content:
                self.post.send({"newest": self._number})


class Computed(anywidget.AnyWidget):
    """A figure that the page computes by itself, with its controls; the kernel only hears where its knobs are.

    form: what the page computes from, packed.
    knobs: where the hand left them, or `move`.
    post: the mailbox; its value is the newest move from here, {"number", "knobs", "picture", "asked"}.
    """

    _esm = HERE / "in_notebook.js"
    _css = HERE / "drag.css"
    form = traitlets.Unicode().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)
    post = traitlets.Instance(ipywidgets.Label).tag(sync=True, **ipywidgets.widget_serialization)
    library = traitlets.Instance(Library).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, figure: Figure, moved: Callable[[dict[str, Any]], None]):
        self._number = 0
        super().__init__(form=live_page.form(figure).decode(), post=ipywidgets.Label(), library=library())
        self.move(figure)
        self.observe(lambda change: moved(change["new"]), "knobs")

    def move(self, figure: Figure, asked: bool = False) -> None:
        """Show the figure with these knobs; asked: they are the page's, which wants the picture alone."""
        self._number += 1
        self.knobs = dict(figure.knobs)
        letter = {"number": self._number, "knobs": self.knobs, "picture": live_page.beyond(figure), "asked": asked}
        self.post.value = json.dumps(letter)
