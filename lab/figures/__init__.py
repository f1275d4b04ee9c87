"""Live figures, one file each, in a folder for each question that they answer.

`names()`, `create(name, **knobs)`, `get(name)`, `save(name, path, **knobs)`, `add(cls)`; derive your own from `Figure`.

A figure is its declared knobs, the numbers that follow from them, and a drawing of those numbers. The notebook widget,
the dashboard and the static picture are all made from the same entry.
"""

from typing import TYPE_CHECKING, Any

from lab.core.catalog import Catalog
from lab.figures.saving import save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from lab.core.knobs import knob
    from lab.figures._base import Figure, Numbers, PlotlyFigure
    from lab.figures._ranked import contact_sheet, figure_bytes, ranked_figure

__all__ = [
    "Figure", "Numbers", "PlotlyFigure", "add", "broken", "contact_sheet", "create", "entries",
    "figure_bytes", "get", "groups", "knob", "names", "ranked_figure", "save", "save_figure",
]  # fmt: skip

_catalog: "Catalog[Figure]" = Catalog(__name__, __path__, "figure", base="lab.figures._base:Figure", grouped=True)
names, get, create, add, groups = _catalog.names, _catalog.get, _catalog.create, _catalog.add, _catalog.groups
entries, broken = _catalog.entries, _catalog.broken
if TYPE_CHECKING:
    from lab.figures import _entries
    from lab.figures._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()


def save(name: str, path: "str | Path", width: int = 1000, height: int | None = None, **knobs: Any) -> "Path":
    """Draw a figure into a file; the suffix of `path` chooses png, svg, pdf or webp, or html with sliders that live.

    Args:
        name: a figure of `names()`.
        path: where to write.
        width, height: pixels; the figure's own height by default.
        knobs: the figure's knobs.

    Returns:
        The path written, as a `pathlib.Path`.

    Raises:
        ValueError: unknown figure, knob or suffix, or no Chrome or Chromium to draw with.
    """
    figure = create(name, **knobs)
    if str(path).lower().endswith(".html"):
        from pathlib import Path

        from lab.figures.live_page import live_page

        Path(path).write_text(live_page(figure), encoding="utf-8")
        return Path(path)
    return save_figure(figure.figure(), path, width, height)
