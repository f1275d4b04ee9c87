"""Live figures, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `save(name, path, **knobs)`.

A figure is its declared knobs, the numbers that follow from them, and a drawing of those numbers. The notebook widget,
the dashboard and the static picture are all made from the same entry.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog
from lab.figures.saving import save_figure

if TYPE_CHECKING:
    from lab.figures._base import Figure

_catalog: "Catalog[Figure]" = Catalog(__name__, __path__, "figure")
names, get, create = _catalog.names, _catalog.get, _catalog.create


def save(name: str, path, width: int = 1000, height: int | None = None, **knobs):
    """Draw a figure into a static picture; the suffix of `path` chooses png, svg, pdf, webp or html.

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
    return save_figure(create(name, **knobs).figure(), path, width, height)


def __getattr__(name: str):
    if name == "contact_sheet":  # brings torch with it, which listing figures should not
        from lab.figures._sheet import contact_sheet

        return contact_sheet
    raise AttributeError(f"module 'lab.figures' has no attribute {name!r}")
