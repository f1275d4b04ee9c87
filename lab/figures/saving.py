"""Static pictures of plotly figures, drawn by kaleido with an installed Chrome or Chromium."""

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
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)


def save_figure(
    figure: go.Figure, path: str | os.PathLike, width: int = 1000, height: int | None = None
) -> Path:
    """Write a figure; see `lab.figures.save`."""
    target = Path(path)
    suffix = target.suffix.removeprefix(".").lower()
    if suffix == "html":
        # 5 MB, but it opens without a network
        write_text(target, figure.to_html(include_plotlyjs=True))
    else:
        write_bytes(target, picture(figure, suffix, width, height))
    return target


def check_format(format: str) -> None:
    """Refuse an unknown format of a static picture.

    Raises:
        ValueError: the format is unknown; the message lists the formats.
    """
    if format not in FORMATS:
        raise ValueError(f"A figure is saved as {', '.join(FORMATS)} or html, got {format!r}.")


def picture(
    figure: go.Figure, format: str = "png", width: int = 1000, height: int | None = None
) -> bytes:
    """Return a figure as the bytes of a static picture, at two pixels per layout unit.

    The first picture of a process starts a browser, which takes about a second; later pictures reuse it.

    Raises:
        ValueError: the format is unknown, or kaleido or the browser is missing.
    """
    check_format(format)
    if "BROWSER_PATH" not in os.environ:
        browsers = [path for path in map(shutil.which, BROWSERS) if path]
        if browsers:
            os.environ["BROWSER_PATH"] = browsers[0]
    options = {
        "format": format,
        "width": width,
        "height": height or figure.layout.height or 460,
        "scale": 2,
    }
    try:
        import kaleido

        drawn = kaleido.calc_fig_sync(figure.to_plotly_json(), opts=options)
    except (ImportError, RuntimeError, OSError) as error:
        raise ValueError(
            "A static picture needs kaleido (pip install 'rankscope[notebooks]') and a Chrome or Chromium browser: "
            "install one, or name its executable in BROWSER_PATH. A path ending in .html works without. "
            f"({type(error).__name__}: {error})"
        ) from error
    # Start the server only after a first picture: it would wait for ever for a browser that cannot start.
    kaleido.start_sync_server(n=1, silence_warnings=True)
    return drawn


def save(
    name: str, path: str | Path, width: int = 1000, height: int | None = None, **knobs: Any
) -> Path:
    """Draw a figure to a file; the suffix of `path` chooses png, svg, pdf, webp, or html with working sliders.

    Args:
        name: a figure of `names()`.
        path: file to write.
        width, height: pixels; the figure's own height by default.
        knobs: the figure's knobs.

    Returns:
        the path of the file.

    Raises:
        ValueError: a figure, knob or suffix is unknown, or Chrome and Chromium are missing.
    """
    figure = create(name, **knobs)
    if str(path).lower().endswith(".html"):
        from lab.figures.live_page import live_page

        target = Path(path)
        target.write_text(live_page(figure), encoding="utf-8")
        return target
    return save_figure(figure.figure(), path, width, height)
