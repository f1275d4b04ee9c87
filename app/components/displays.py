"""What is shown and, at most, clicked: bars, coloured regions of pictures, a confusion matrix, messages of ended runs.

What is right is blue, what is wrong vermillion, and marks, hatches or numbers say the same: never colour alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from app.components import component, told
from app.run_events import ADDRESS


def listen() -> None:
    """Keep this page's connection to the server (`app.run_events`); it shows nothing until a run has ended. And have
    one press of Back lead to the page before: a step is what the person did, and not that a page filled in its
    address."""
    with st.container(key="listening"):
        component("notifications")(key="notifications listen", data={"address": ADDRESS, "button": False})
    with st.container(key="listening-steps"):
        component("steps")(key="steps", data={})


def notifications_button() -> None:
    """The button that allows desktop messages, and what they are."""
    component("notifications")(key="notifications", data={"address": ADDRESS, "button": True})


@dataclass(frozen=True)
class Meter:
    """One bar.

    value: 0 to 1. against: where the mark stands, 0 to 1, and what it is. right: True blue with a check mark, False
    vermillion hatched with a cross, None neither.
    """

    title: str
    value: float
    words: str
    against: float | None = None
    against_title: str = ""
    right: bool | None = None


def meters(bars: Sequence[Meter], *, key: str) -> None:
    """Draw meters side by side, as many in a row as fit."""
    component("meters")(key=key, data={"meters": [asdict(one) for one in bars]})


@dataclass(frozen=True)
class Regions:
    """One picture. src: a data URI. values: rows of cells from the upper left, in `unit`. words: says the same."""

    src: str
    title: str
    values: Sequence[Sequence[float]]
    words: str


def regions(
    pictures: Sequence[Regions], matches: Sequence[tuple[int, int, float]], *, key: str, **words: str | float
) -> None:
    """Draw two pictures side by side, with what each of their regions adds to the similarity laid over them.

    matches: places of cells that a line joins, and what each pair adds. words: `title`; `how`, which says more; `unit`
    of the cells, and `largest`, the amount that has the full colour.
    """
    data = {"pictures": [asdict(one) for one in pictures], "matches": matches, **words}
    component("regions")(key=key, data=data)


def matrix(
    names: Sequence[str],
    counts: Sequence[Sequence[int]],
    looked: Sequence[int],
    *,
    key: str,
    on_pick: Callable[[int, int], None],
    **words: str,
) -> None:
    """Draw classes by classes; `on_pick(row, column)` runs before the page is drawn again, after a click or Enter on a
    cell that is not empty.

    Args:
        counts: [c c], neighbours of the column's class of all queries of the row's.
        looked: [c], all neighbours of the row's queries, 0 where there are none.
        words: `title` and `note`.
    """

    def picked() -> None:
        cell = told(key, "picked", row=int, column=int)
        if all(0 <= cell[place] < len(names) for place in ("row", "column")):  # a click may be of the matrix before
            on_pick(cell["row"], cell["column"])

    data = {"names": names, "counts": counts, "looked": looked, **words}
    component("matrix")(key=key, data=data, on_picked_change=picked)


def threshold(thresholds: Sequence[float], *, key: str, on_move: Callable[[float], None], **drawn: Any) -> None:
    """Draw the similarities of pairs of one class and of two with a line that can be dragged, and moved by keys;
    `on_move(value)` runs before the page is drawn again, when the line rests.

    Args:
        thresholds: [t], ascending, where the line may stand.
        drawn: `edges` [b + 1]; `same` and `other` [b], share of the pairs of each kind between two edges; `far` and
            `frr` [t], shares that each threshold lets through and keeps out; `value`, where the line stands; `title`,
            `unit`, and `alt`, which says what is drawn.
    """

    def moved() -> None:
        value = told(key, "moved", value=float)["value"]
        if value in thresholds:  # a line that was dragged may be of the drawing before
            on_move(float(value))

    component("threshold")(key=key, data={"thresholds": thresholds, **drawn}, on_moved_change=moved)
