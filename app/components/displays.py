"""Bars, coloured regions of pictures, a confusion matrix, a threshold, and messages of ended runs.

Correct is blue and wrong is vermillion. Marks, hatches or numbers say the same, so that colour is never needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from app.components import component, reported
from app.run_events import ADDRESS


def listen() -> None:
    """Connect this page to the server (`app.run_events`), which reports ended runs, and group the browser's history.

    With grouped history, Back undoes the user's last step: URL parameters that a page adds are not steps.
    """
    with st.container(key="listening"):
        component("notifications")(
            key="notifications listen", data={"address": ADDRESS, "button": False}
        )
    with st.container(key="listening-steps"):
        component("steps")(key="steps", data={})


def notifications_button() -> None:
    """Draw the button that allows desktop notifications."""
    component("notifications")(key="notifications", data={"address": ADDRESS, "button": True})


@dataclass(frozen=True)
class Meter:
    """One bar.

    value: 0 to 1.
    against, against_title: position (0 to 1) and label of a mark to compare with.
    right: True is blue with a check mark, False is vermillion and hatched with a cross, None is neutral.
    """

    title: str
    value: float
    words: str
    against: float | None = None
    against_title: str = ""
    right: bool | None = None


def meters(bars: Sequence[Meter], *, key: str) -> None:
    """Draw bars side by side, as many in a row as fit."""
    component("meters")(key=key, data={"meters": [asdict(bar) for bar in bars]})


@dataclass(frozen=True)
class Regions:
    """One picture. src: a data URI. values: rows of cells from the upper left. words: describes the values."""

    src: str
    title: str
    values: Sequence[Sequence[float]]
    words: str


def regions(
    pictures: Sequence[Regions],
    matches: Sequence[tuple[int, int, float]],
    *,
    key: str,
    **words: str | float,
) -> None:
    """Draw two pictures side by side, and over them the contribution of each region to the similarity.

    Args:
        matches: (cell of the first, cell of the second, contribution) of pairs to join by a line.
        words: `title`; `how`, an explanation; `unit` of the values; `largest`, the value with the full colour.
    """
    data = {"pictures": [asdict(picture) for picture in pictures], "matches": matches, **words}
    component("regions")(key=key, data=data)


def matrix(
    names: Sequence[str],
    counts: Sequence[Sequence[int]],
    totals: Sequence[int],
    *,
    key: str,
    on_pick: Callable[[int, int], None],
    **words: str,
) -> None:
    """Draw a confusion matrix.

    Args:
        counts: [c c], number of neighbours with the column's class over all queries of the row's class.
        totals: [c], number of all neighbours of the row's queries, 0 if there are none.
        on_pick: called with row and column after a click or Enter on a cell that is not empty, before the page is drawn
            again.
        words: `title` and `note`.
    """

    def on_picked() -> None:
        cell = reported(key, "picked", row=int, column=int)
        row, column = cell["row"], cell["column"]
        # the click may belong to an earlier, larger matrix
        if 0 <= row < len(names) and 0 <= column < len(names):
            on_pick(row, column)

    data = {"names": names, "counts": counts, "looked": totals, **words}
    component("matrix")(key=key, data=data, on_picked_change=on_picked)


def threshold(
    thresholds: Sequence[float], *, key: str, on_move: Callable[[float], None], **data: Any
) -> None:
    """Draw histograms of the similarities of positive and negative pairs, with a threshold that can be moved.

    Args:
        thresholds: [t], ascending, the possible positions of the line.
        on_move: called with the threshold when the line rests, before the page is drawn again.
        data: `edges` [b + 1]; `same` and `other` [b], fraction of positive and of negative pairs in each bin; `far` and
            `frr` [t], false accept and false reject rate of each threshold; `value`, the current threshold; `title`,
            `unit`, and `alt`, a description of the drawing.
    """

    def on_moved() -> None:
        value = reported(key, "moved", value=float)["value"]
        if value in thresholds:  # the line may belong to an earlier drawing
            on_move(float(value))

    component("threshold")(
        key=key, data={"thresholds": thresholds, **data}, on_moved_change=on_moved
    )
