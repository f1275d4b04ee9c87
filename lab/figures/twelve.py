"""Twelve emoji that all lessons and many figures share: three drawings of four kinds, each a point on a circle.

Their angles follow from 8 x 8 pixels: the two directions in which these pictures differ most, as whole degrees. Two
numbers of 192 are little, and the search makes mistakes: the first answer to tiger 1 is a frog.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.results import EmbeddingSet

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from PIL import Image

KINDS = ("tiger", "cat", "fox", "frog")
LABELS = np.repeat(np.arange(4), 3)
"""int64 [12], places in `KINDS`."""
NAMES = tuple(f"{KINDS[label]} {1 + item % 3}" for item, label in enumerate(LABELS))
"""Of each item: tiger 1, tiger 2, tiger 3, cat 1 ..."""
ITEMS = (1072, 1073, 1074, 1049, 1050, 1051, 1039, 1040, 1041, 1477, 1478, 1479)
"""Where each stands in the data set emoji7."""
ANGLES = (172, 193, 113, 337, 317, 348, 30, 57, 8, 270, 220, 160)
"""Degrees, counter-clockwise from the right."""
VECTORS = np.stack([np.cos(np.radians(ANGLES)), np.sin(np.radians(ANGLES))], axis=1)
"""float64 [12 2], of unit length: their products are cosines."""
QUERY = 0
"""The item that searches in the lessons: tiger 1. It finds frog 3, tiger 2, frog 2 and tiger 3, in this order."""


def embedded() -> EmbeddingSet:
    """The twelve as embeddings, whose items are those of the data set emoji7.

    Example:
        >>> import lab
        >>> images = embedded()
        >>> lab.search.create("exact").build(images).rank(images, same_source=True).hits[QUERY, :4]
        array([False,  True, False,  True])
    """
    return EmbeddingSet(VECTORS.astype(np.float32), LABELS, list(ITEMS))


def ranked(query: int = QUERY) -> np.ndarray:
    """int64 [11]: the other items by their cosine to the query, best first.

    Example:
        >>> [NAMES[item] for item in ranked()[:4]]
        ['frog 3', 'tiger 2', 'frog 2', 'tiger 3']
    """
    order = np.argsort(-(VECTORS @ VECTORS[query]), kind="stable")
    return order[order != query]


def scores(query: int = QUERY) -> np.ndarray:
    """float64 [11]: the cosines of `ranked`, to two digits.

    Example:
        >>> scores()[:4]
        array([0.98, 0.93, 0.67, 0.52])
    """
    return (VECTORS @ VECTORS[query])[ranked(query)].round(2)


def pattern(query: int = QUERY) -> str:
    """Of each of `ranked` a + where it is of the query's kind, and a - where it is not.

    Example:
        >>> pattern()
        '-+-+-------'
    """
    return "".join("+" if LABELS[item] == LABELS[query] else "-" for item in ranked(query))


def _by_kind() -> dict[bool, list[int]]:
    """The others of the query's kind, and those of another, each by their cosine to it."""
    return {mine: [item for item in ranked() if (LABELS[item] == LABELS[QUERY]) == mine] for mine in (True, False)}


def stand_ins(relevant: Sequence[bool] | np.ndarray) -> list[int] | None:
    """Which of the twelve stand for the items of a list that `QUERY` searched, in its order: its kind where an item is
    relevant, other kinds where it is not; None for a list that has more of either.

    Example:
        >>> [NAMES[item] for item in stand_ins([True, False, True])]
        ['tiger 2', 'frog 3', 'tiger 3']
    """
    left = _by_kind()
    if any(sum(bool(one) == mine for one in relevant) > len(items) for mine, items in left.items()):
        return None
    return [left[bool(one)].pop(0) for one in relevant]


def faces() -> dict[str, list[tuple[str, str]]]:
    """Names and pictures of the `stand_ins`, by their sign in a pattern, in order."""
    return {"-+"[mine]: [(NAMES[item], pictures()[item]) for item in items] for mine, items in _by_kind().items()}


@cache
def pictures() -> tuple[str, ...]:
    """Each as the address of a small picture, for an <img> of HTML or an image of plotly; clear around the drawing."""
    from lab.data import create

    emoji = create("emoji7")
    return tuple(_address(emoji.load(item)) for item in ITEMS)


def lay(figure: go.Figure, items: Sequence[int], x: Any, y: Any, size: tuple[float, float], **where: int) -> None:
    """Pictures at data coordinates.

    Args:
        figure: with linear axes.
        items: of the twelve.
        x, y: [n] each, the middles.
        size: the room of each, in units of the two axes.
        where: row and col of the panel.
    """
    figure.layout.images = [*figure.layout.images, *placed(items, x, y, size, axes_of(figure, **where))]


def placed(items: Sequence[int], x: Any, y: Any, size: tuple[float, float], axes: dict[str, str]) -> list[dict]:
    """The pictures as plotly takes them: many of them at once, since it checks all there are with each new one.

    Args:
        items, x, y, size: as `lay` takes them.
        axes: as `axes_of` gives them.
    """
    look = {"sizex": size[0], "sizey": size[1], "xanchor": "center", "yanchor": "middle", **axes}
    return [{"source": pictures()[i], "x": a, "y": b, **look} for i, a, b in zip(items, x, y, strict=True)]


def axes_of(figure: go.Figure, **where: int) -> dict[str, str]:
    """The names of a panel's axes, as pictures and shapes refer to them; of the only panel, where none is said."""
    if not where:
        return {"xref": "x", "yref": "y"}
    panel = figure.get_subplot(where["row"], where["col"])
    return {f"{one}ref": panel[place].plotly_name.replace("axis", "") for place, one in enumerate("xy")}


def _address(image: Image.Image) -> str:
    """PNG data; the white around a drawing is cleared, so that it stands on any ground.

    Around it is what a square of 13 pixels reaches from the edge: so the white of a face that touches the edge remains.
    """
    from PIL import ImageChops, ImageDraw, ImageFilter, ImageOps

    around = ImageOps.expand(ImageChops.invert(image.convert("L")).point(lambda ink: 255 * (ink > 10)), 16)
    outside = around.filter(ImageFilter.MaxFilter(13))
    ImageDraw.floodfill(outside, (0, 0), 100)
    outside = outside.point(lambda ink: 255 * (ink == 100)).filter(ImageFilter.MaxFilter(13))
    clear = image.copy()
    clear.putalpha(ImageOps.crop(ImageChops.lighter(ImageChops.invert(outside), around), 16))
    file = io.BytesIO()
    clear.resize((48, 48)).quantize(64).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
