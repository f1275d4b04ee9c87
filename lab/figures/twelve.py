"""Twelve emoji that all lessons and many figures share: three drawings of each of four kinds, as points on a circle.

Their angles come from pictures of 8 x 8 pixels, projected on their first two principal directions, in whole degrees.
Two of 192 numbers are few, so a search makes mistakes: the first neighbour of tiger 1 is a frog.
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
"""Name of each item: tiger 1, tiger 2, tiger 3, cat 1 ..."""
ITEMS = (1072, 1073, 1074, 1049, 1050, 1051, 1039, 1040, 1041, 1477, 1478, 1479)
"""Position of each item in the data set emoji7."""
ANGLES = (172, 193, 113, 337, 317, 348, 30, 57, 8, 270, 220, 160)
"""Degrees, counter-clockwise from the right."""
VECTORS = np.stack([np.cos(np.radians(ANGLES)), np.sin(np.radians(ANGLES))], axis=1)
"""float64 [12 2], of unit length: their products are cosines."""
QUERY = 0
"""The query of the lessons: tiger 1. Its first neighbours are frog 3, tiger 2, frog 2 and tiger 3, in this order."""


def embedded() -> EmbeddingSet:
    """Return the twelve as embeddings, with their items in the data set emoji7.

    Example:
        >>> import lab
        >>> images = embedded()
        >>> lab.search.create("exact").build(images).rank(images, same_source=True).hits[QUERY, :4]
        array([False,  True, False,  True])
    """
    return EmbeddingSet(VECTORS.astype(np.float32), LABELS, list(ITEMS))


def ranked(query: int = QUERY) -> np.ndarray:
    """Return the other items by their cosine to the query, best first, int64 [11].

    Example:
        >>> [NAMES[item] for item in ranked()[:4]]
        ['frog 3', 'tiger 2', 'frog 2', 'tiger 3']
    """
    order = np.argsort(-(VECTORS @ VECTORS[query]), kind="stable")
    return order[order != query]


def scores(query: int = QUERY) -> np.ndarray:
    """Return the cosines of `ranked` with two digits, float64 [11].

    Example:
        >>> scores()[:4]
        array([0.98, 0.93, 0.67, 0.52])
    """
    cosines = VECTORS @ VECTORS[query]
    return cosines[ranked(query)].round(2)


def pattern(query: int = QUERY) -> str:
    """Return a + for each item of `ranked` that is of the query's kind, and a - for the others.

    Example:
        >>> pattern()
        '-+-+-------'
    """
    return "".join("+" if LABELS[item] == LABELS[query] else "-" for item in ranked(query))


def _by_relevance() -> dict[bool, list[int]]:
    """Return the other items of the query's kind (True) and of other kinds (False), each by their cosine to it."""
    items: dict[bool, list[int]] = {True: [], False: []}
    for item in ranked():
        items[bool(LABELS[item] == LABELS[QUERY])].append(item)
    return items


def stand_ins(relevant: Sequence[bool] | np.ndarray) -> list[int] | None:
    """Return for each item of a list one of the twelve: of the query's kind if the item is relevant, else another.

    None if the list has more relevant or irrelevant items than there are.

    Example:
        >>> [NAMES[item] for item in stand_ins([True, False, True])]
        ['tiger 2', 'frog 3', 'tiger 3']
    """
    available = _by_relevance()
    items = []
    for is_relevant in relevant:
        if not available[bool(is_relevant)]:
            return None
        items.append(available[bool(is_relevant)].pop(0))
    return items


def faces() -> dict[str, list[tuple[str, str]]]:
    """Return names and pictures of the `stand_ins` in order, by their sign in a pattern."""
    names_and_pictures = {}
    for is_relevant, items in _by_relevance().items():
        sign = "+" if is_relevant else "-"
        names_and_pictures[sign] = [(NAMES[item], pictures()[item]) for item in items]
    return names_and_pictures


@cache
def pictures() -> tuple[str, ...]:
    """Return small pictures as data URLs, for <img> of HTML or images of plotly; transparent around the drawing."""
    from lab.data import create

    emoji = create("emoji7")
    return tuple(_address(emoji.load(item)) for item in ITEMS)


def lay(
    figure: go.Figure, items: Sequence[int], x: Any, y: Any, size: tuple[float, float], **where: int
) -> None:
    """Draw pictures at data coordinates.

    Args:
        figure: a figure with linear axes.
        items: some of the twelve.
        x, y: [n] each, the centres.
        size: largest width and height of each, in units of the two axes.
        where: row and col of the panel.
    """
    figure.layout.images = [
        *figure.layout.images,
        *placed(items, x, y, size, axes_of(figure, **where)),
    ]


def placed(
    items: Sequence[int], x: Any, y: Any, size: tuple[float, float], axes: dict[str, str]
) -> list[dict]:
    """Return the pictures in plotly's notation, to add all at once: plotly checks all images with each assignment.

    Args:
        items, x, y, size: see `lay`.
        axes: result of `axes_of`.
    """
    look = {"sizex": size[0], "sizey": size[1], "xanchor": "center", "yanchor": "middle", **axes}
    images = []
    for item, centre_x, centre_y in zip(items, x, y, strict=True):
        images.append({"source": pictures()[item], "x": centre_x, "y": centre_y, **look})
    return images


def axes_of(figure: go.Figure, **where: int) -> dict[str, str]:
    """Return the names of a panel's axes, as pictures and shapes refer to them; without `where`, of the only panel."""
    if not where:
        return {"xref": "x", "yref": "y"}
    x_axis, y_axis = figure.get_subplot(where["row"], where["col"])
    return {
        "xref": x_axis.plotly_name.replace("axis", ""),
        "yref": y_axis.plotly_name.replace("axis", ""),
    }


def _address(image: Image.Image) -> str:
    """Return a picture as PNG data whose white around the drawing is transparent, so that it fits any background.

    "Around" is the white that a square of 13 pixels reaches from the edge, so that a white face that touches the edge
    stays white.
    """
    from PIL import ImageChops, ImageDraw, ImageFilter, ImageOps

    margin = 16
    drawn = ImageChops.invert(image.convert("L")).point(lambda ink: 255 * (ink > 10))
    drawn = ImageOps.expand(drawn, margin)

    # Widen the drawing, fill the white that is connected to the corner, and widen it back.
    outside = drawn.filter(ImageFilter.MaxFilter(13))
    ImageDraw.floodfill(outside, (0, 0), 100)
    outside = outside.point(lambda ink: 255 * (ink == 100)).filter(ImageFilter.MaxFilter(13))

    transparent = image.copy()
    opaque = ImageChops.lighter(ImageChops.invert(outside), drawn)
    transparent.putalpha(ImageOps.crop(opaque, margin))
    file = io.BytesIO()
    transparent.resize((48, 48)).quantize(64).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
