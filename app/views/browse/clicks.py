"""What a click on a result does: search with it, explain it, mark it, or move the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.answers import judging, refining
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import address, page_frame

CLICKS = {
    "search": "Search with it",
    "why": "Explain the similarity",
    "judge": "Mark it right or wrong",
    "like": "Find more like it",
    "unlike": "Find less like it",
}
PAIR = "pair"
"""In the session's state: the result that is explained."""


def choose(offered: Sequence[str]) -> str:
    """Draw the choice."""
    page_frame.keep("click", "search", list(offered), link="click")
    return st.selectbox(
        "A click on a result", list(offered), key="click", format_func=CLICKS.__getitem__, width=200,
        persist_state="session",
    )  # fmt: skip


def search_with(item: int) -> None:
    """An image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def on_pick(click: str, run: RunView, whole: Collection, query: int | None) -> Callable[[str, int], None]:
    """What the gallery of results calls."""

    def pick(section: str, item: int) -> None:
        if click == "why":
            st.session_state[PAIR] = item
        elif click == "judge" and query is not None:
            judging.turn(run, whole, query, item)
        elif click in (refining.LIKE, refining.UNLIKE):
            refining.turn(click, item)
        else:
            search_with(item)

    return pick


def pair(whole: Collection, query: int) -> int | None:
    """The result that is to be explained, or None."""
    address.adopt(PAIR, int, lambda one: whole.position(one) is not None, default=None)
    item = st.session_state.get(PAIR)
    item = None if whole.position(item) is None or item == query else item
    address.tell(PAIR, item)
    return item
