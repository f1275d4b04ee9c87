"""What the Browse page is about: a run, a split, perhaps another answer, and what somebody wants to see of each."""

from dataclasses import dataclass

import streamlit as st

from app.answers.comparison_choice import ComparisonChoice
from app.results.cache import SplitView
from app.shared import page_frame
from lab.evaluation.filters import Filter

CLICKS = {
    "search": "Search with it",
    "why": "Explain the similarity",
    "like": "Find more like it",
    "unlike": "Find less like it",
}
PAIR = "pair"
"""In the session's state: the result that is explained."""


@dataclass(frozen=True)
class Scene:
    """What the page shows.

    size: neighbours on a page. k: of the metrics. chosen: the filter. click: what a click on a result does.
    """

    view: SplitView
    other: ComparisonChoice | None
    size: int
    k: int
    chosen: Filter
    click: str


def search_with(item: int) -> None:
    """An image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def page_key(about: object) -> str:
    """Where the page of an answer stands in the session's state: every query starts on its own first page."""
    return f"page of {about}"


def turn_pages(about: object, count: int, size: int) -> None:
    """The pages' numbers, where there are several."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        page_frame.turn(page_key(about), count, size)
