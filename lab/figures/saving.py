"""Static pictures of plotly figures, through kaleido and whatever Chromium there is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core.files import write_bytes, write_text
from lab.figures._catalog import create

if TYPE_CHECKING:
    import plotly.graph_objects as go

FORMATS = ("png", "svg", "pdf", "webp", "jpeg")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


def save_figure(figure: go.Figure, path: str | os.PathLike, width: int = 1000, height: int | None = None) -> Path:
    """Write a figure; see `lab.figures.save`."""
    target = Path(path)
    suffix = target.suffix.removeprefix(".").lower()
    if suffix == "html":
        write_text(target, figure.to_html(include_plotlyjs=True))  # 5 MB, but it is read where there is no network
    else:
        write_bytes(target, picture(figure, suffix, width, height))
    return target


def check_format(format: str) -> None:
    """Refuse what is no format of a static picture.

    Raises:
        ValueError: names those that are.
    """
    if format not in FORMATS:
        raise ValueError(f"A figure is saved as {', '.join(FORMATS)} or html, got {format!r}.")


def picture(figure: go.Figure, format: str = "png", width: int = 1000, height: int | None = None) -> bytes:
    """A figure as the bytes of a static picture, at two pixels a layout unit.

    The first picture of a process starts a browser, about a second; it is kept, so the next ones take a fraction.

    Raises:
        ValueError: unknown format, or no kaleido, Chrome or Chromium to draw with.
    """
    check_format(format)
    if "BROWSER_PATH" not in os.environ:
        browser = next((where for name in BROWSERS if (where := shutil.which(name))), None)
        if browser:
            os.environ["BROWSER_PATH"] = browser
    options = {"format": format, "width": width, "height": height or figure.layout.height or 460, "scale": 2}
    try:
        import kaleido

        drawn = kaleido.calc_fig_sync(figure.to_plotly_json(), opts=options)
    except (ImportError, RuntimeError, OSError) as error:
        raise ValueError(
            "A static picture needs kaleido (pip install 'rankscope[notebooks]') and a Chrome or Chromium browser: "
            "install one, or name its executable in BROWSER_PATH. A path ending in .html works without. "
            f"({type(error).__name__}: {error})"
        ) from error
    # Only a browser that has worked once is kept: kaleido's server waits for ever on one that cannot start.
    kaleido.start_sync_server(n=1, silence_warnings=True)
    return drawn


def save(name: str, path: str | Path, width: int = 1000, height: int | None = None, **knobs: Any) -> Path:
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
        from lab.figures.live_page import live_page

        target = Path(path)
        target.write_text(live_page(figure), encoding="utf-8")
        return target
    return save_figure(figure.figure(), path, width, height)
