"""Static pictures of plotly figures, through kaleido and whatever Chromium there is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

FORMATS = ("png", "svg", "pdf", "webp", "jpeg")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


def save_figure(figure: go.Figure, path: str | os.PathLike, width: int = 1000, height: int | None = None) -> Path:
    """Write a figure; see `lab.figures.save`."""
    target = Path(path)
    suffix = target.suffix.removeprefix(".").lower()
    if suffix == "html":
        figure.write_html(target, include_plotlyjs="cdn")
        return target
    if suffix not in FORMATS:
        raise ValueError(f"A figure is saved as {', '.join(FORMATS)} or html; {target.name!r} asks for {suffix!r}.")
    if "BROWSER_PATH" not in os.environ:
        found = next((where for name in BROWSERS if (where := shutil.which(name))), None)
        if found:
            os.environ["BROWSER_PATH"] = found
    try:
        figure.write_image(target, width=width, height=height or figure.layout.height, scale=2)
    except Exception as error:
        if type(error).__name__ not in ("ChromeNotFoundError", "BrowserFailedError", "ValueError", "FileNotFoundError"):
            raise
        raise ValueError(
            "A static picture needs kaleido (pip install 'ranklab[notebooks]') and a Chrome or Chromium browser: "
            "install one, or name its executable in BROWSER_PATH. A path ending in .html works without. "
            f"({type(error).__name__}: {error})"
        ) from error
    return target
