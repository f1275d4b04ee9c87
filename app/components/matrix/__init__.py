"""A confusion matrix as a table of coloured cells: by mouse, by arrow keys and by screen reader.

What is right (the diagonal) is blue, what is wrong vermillion, the stronger the more; the cells say it in numbers, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from app.components import component


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
