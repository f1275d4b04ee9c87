"""Small pictures of a run's images, to lay into a figure."""

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
"""Pixels; an emoji is that large, and a figure of twenty of them stays below 100 kB."""


def images(run: _runs.Run) -> ImageSet | None:
    """The images that a run's items number; None where they cannot be read, or for a run of vectors alone."""
    try:
        return run.dataset()
    except (OSError, ValueError):
        return None


def in_words(images: ImageSet | None) -> bool:
    """Whether the pictures of these images are cards with words, which nobody can read at this size."""
    from lab.data.images.listing import Listed

    return isinstance(images, Listed) and images.root is None


def pictures(images: ImageSet | None, items: Iterable[int]) -> dict[int, str]:
    """Item -> a small picture of it, as an address that holds its data; those that cannot be read are left out."""
    made: dict[int, str] = {}
    if images is None:
        return made
    for item in {int(item) for item in items}:
        with contextlib.suppress(OSError, ValueError):
            made[item] = _address(images.load(item))
    return made


def names(images: ImageSet | None, items: Iterable[int]) -> dict[int, str]:
    """Item -> the name of its class, its own name where it has no class, or "item 17" without images."""
    numbers = [int(item) for item in items]
    if images is None:
        return {item: f"item {item}" for item in numbers}
    return {item: images.class_name(images.labels[item]) or str(images.keys[item]) for item in numbers}


def lay(
    figure: PlotlyFigure,
    address: str | None,
    x: float,
    y: float,
    size: tuple[float, float],
    otherwise: str,
    **where: Any,
) -> None:
    """A picture at data coordinates, or a few words where there is none.

    Args:
        figure: with linear axes.
        address: as `pictures` gives it; None for none.
        x, y: the middle.
        size: the room it may take, in units of the two axes; it keeps its form.
        otherwise: what stands there without a picture.
        where: row and col of the panel.
    """
    if address:
        figure.add_layout_image(
            source=address, x=x, y=y, sizex=size[0], sizey=size[1], xanchor="center", yanchor="middle",
            xref="x", yref="y", **where,
        )  # fmt: skip
    else:
        style.note(figure, otherwise, x, y, **where)


def _address(image: Any) -> str:
    small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    small.quantize(128).save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
