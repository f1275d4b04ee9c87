"""A map of images: thousands of points on a canvas, with a lasso, a legend that counts, and lines to neighbours.

`st.plotly_chart` forgets zoom and lasso whenever its figure changes, and here it changes at every click: the lines to
the neighbours of the clicked image are part of it. This component keeps both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import streamlit as st

from lab.dashboard.components import component

MARKS = ("circle", "square", "triangle", "diamond", "plus", "cross", "star", "pentagon")
"""Shapes of the first categories; what comes after them shares the dot."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#F0E442")


@dataclass(frozen=True)
class Category:
    """A line of the legend. count: its points on the map; colour empty means grey."""

    name: str
    count: int
    mark: str = "dot"
    colour: str = ""


@dataclass(frozen=True)
class Line:
    """A line from the picked point to another one. right: the two have one class."""

    to: int
    right: bool
    rank: int


@dataclass(frozen=True)
class Points:
    """What is on the map. of: changes when these are other points, so that zoom and selection start anew.

    ids: int64 [n]. flat: [n 2]. names: int64 [n], what each is called, as a position in `known`. categories: int64 [n],
    as positions in `legend`.
    """

    of: str
    ids: np.ndarray
    flat: np.ndarray
    names: np.ndarray
    known: Sequence[str]
    categories: np.ndarray
    legend: Sequence[Category]


def scatter(
    points: Points,
    *,
    key: str,
    title: str,
    alt: str,
    selected: Sequence[int],
    picked: int | None,
    lines: Sequence[Line],
    on_select: Callable[[list[int]], None],
    on_pick: Callable[[int], None],
) -> None:
    """Draw the map.

    Args:
        title: what the legend lists.
        selected: ids inside the lasso.
        picked: id of the point whose lines are drawn.
        on_select: called with the ids that were lassoed, before the page is drawn again; empty when the lasso is
            cleared. They come from a browser: check them.
        on_pick: called with the id of a clicked point.
    """

    def reported(name: str) -> dict:
        value = st.session_state[key].get(name)
        return value if isinstance(value, dict) else {}

    def lassoed() -> None:
        ids = reported("lassoed").get("ids")
        if isinstance(ids, list):
            on_select([one for one in ids if isinstance(one, int)])

    def clicked() -> None:
        one = reported("picked").get("id")
        if isinstance(one, int):
            on_pick(one)

    flat = points.flat.astype(np.float64)
    low, high = flat.min(0), flat.max(0)
    # Whole numbers are a third as long as floats, and finer than any screen.
    grid = np.round((flat - low) / max((high - low).max(), 1e-12) * 20_000).astype(int)
    data = {
        "of": points.of,
        "ids": points.ids.tolist(),
        "x": grid[:, 0].tolist(),
        "y": grid[:, 1].tolist(),
        "names": points.names.tolist(),
        "known": list(points.known),
        "categories": points.categories.tolist(),
        "legend": [asdict(one) for one in points.legend],
        "title": title,
        "alt": alt,
        "selected": list(selected),
        "picked": picked,
        "lines": [asdict(one) for one in lines],
    }
    component("scatter")(key=key, data=data, on_lassoed_change=lassoed, on_picked_change=clicked)
