"""Small pictures of a run's images, to draw inside a figure."""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lab.core import style
from lab.figures import _runs
from lab.figures._base import PlotlyFigure

if TYPE_CHECKING:
    from lab.data import ImageSet

SIDE = 64
"""Side in pixels; an emoji has this size, and a figure with twenty of them stays below 100 kB."""


def images(run: _runs.RunLike) -> ImageSet | None:
    """Return the images of a run; None if they cannot be read, or for a run of vectors alone."""
    try:
        return run.dataset()
    except (OSError, ValueError):
        return None


def in_words(images: ImageSet | None) -> bool:
    """Whether the pictures of these images are cards with words, which are illegible at this size."""
    from lab.data.images.listing import Listed

    return isinstance(images, Listed) and images.root is None


def pictures(images: ImageSet | None, items: Iterable[int]) -> dict[int, str]:
    """Return small pictures by item, as data URLs; images that cannot be read are left out."""
    addresses: dict[int, str] = {}
    if images is None:
        return addresses
    for item in {int(item) for item in items}:
        with contextlib.suppress(OSError, ValueError):
            addresses[item] = _address(images.load(item))
    return addresses


def names(images: ImageSet | None, items: Iterable[int]) -> dict[int, str]:
    """Return names by item: of its class, of the item itself if it has no class, or "item 17" without images."""
    numbers = [int(item) for item in items]
    if images is None:
        return {item: f"item {item}" for item in numbers}
    return {
        item: images.class_name(images.labels[item]) or str(images.keys[item]) for item in numbers
    }


def lay(
    figure: PlotlyFigure,
    address: str | None,
    x: float,
    y: float,
    size: tuple[float, float],
    otherwise: str,
    **where: Any,
) -> None:
    """Draw a picture at data coordinates, or a few words if there is no picture.

    Args:
        figure: a figure with linear axes.
        address: data URL from `pictures`, or None.
        x, y: centre of the picture.
        size: largest width and height, in units of the two axes; the picture keeps its proportions.
        otherwise: the words in place of a picture.
        where: row and col of the panel.
    """
    if address:
        figure.add_layout_image(
            source=address,
            x=x,
            y=y,
            sizex=size[0],
            sizey=size[1],
            xanchor="center",
            yanchor="middle",
            xref="x",
            yref="y",
            **where,
        )
    else:
        style.note(figure, otherwise, x, y, **where)


def _address(image: Any) -> str:
    small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    small.quantize(128).save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
