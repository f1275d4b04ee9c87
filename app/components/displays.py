"""What is shown and, at most, clicked: bars, coloured regions of pictures, a confusion matrix, messages of ended runs.

What is right is blue, what is wrong vermillion, and marks, hatches or numbers say the same: never colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from app.components import component
from app.run_events import ADDRESS

EVERY = 5
"""Seconds between two questions of a page; browsers make that a minute for tabs that nobody looks at."""


def listen() -> None:
    """Have this page ask which runs have ended; it shows nothing until one has. And have one press of Back lead to the
    page before: a step is what the person did, and not that a page filled in its address."""
    with st.container(key="listening"):
        component("notifications")(key="bell listens", data=_events(button=False))
    with st.container(key="listening-steps"):
        component("steps")(key="steps", data={})


def notifications_button() -> None:
    """The button that allows desktop messages, and what they are."""
    component("notifications")(key="bell", data=_events(button=True))


def _events(button: bool) -> dict[str, object]:
    return {"button": button, "address": ADDRESS, "every": EVERY}


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


def regions(pictures: Sequence[Regions], *, key: str, largest: float, unit: str) -> None:
    """Draw pictures side by side, with what each of their regions adds to the similarity laid over them; a cell
    of the amount `largest`, in `unit`, has the full colour."""
    data = {"pictures": [asdict(one) for one in pictures], "largest": largest, "unit": unit}
    component("regions")(key=key, data=data)


@dataclass(frozen=True)
class Matrix:
    """Classes by classes.

    names: [c]. counts: [c c], neighbours of the column's class of all queries of the row's. looked: [c], all neighbours
    of the row's queries, 0 where there are none. strings are shown as text.
    """

    names: Sequence[str]
    counts: Sequence[Sequence[int]]
    looked: Sequence[int]
    title: str
    note: str


def matrix(content: Matrix, *, key: str, on_pick: Callable[[int, int], None]) -> None:
    """Draw it; `on_pick(row, column)` runs before the page is drawn again, after a click or Enter on a cell that is not
    empty."""

    def picked() -> None:
        cell = st.session_state[key]["picked"]
        row, column = (cell.get("row"), cell.get("column")) if isinstance(cell, dict) else (None, None)
        known = range(len(content.names))
        if isinstance(row, int) and isinstance(column, int) and row in known and column in known:
            on_pick(row, column)

    component("matrix")(key=key, data=asdict(content), on_picked_change=picked)
