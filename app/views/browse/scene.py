"""What the Browse page is about: a run, a split, perhaps another answer, and what somebody wants to see of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.answers import why_this_rank
from app.answers.comparison_choice import ComparisonChoice
from app.answers.why_this_rank import Weighed
from app.results import cache
from app.results.collection import Collection
from app.results.filters import Filter
from app.shared import background, page_frame
from app.shared.background import Job


@dataclass(frozen=True)
class Wish:
    """What somebody wants to see of every answer: neighbours on a page, the k of the metrics, a filter, and a loss
    with its knobs (no name: none). click: what a click on a result does."""

    size: int
    k: int
    chosen: Filter
    why: str
    knobs: dict
    click: str


@dataclass(frozen=True)
class BrowseView:
    """What the page is about."""

    run: cache.RunView
    split: str
    collection: Collection
    other: ComparisonChoice | None
    wish: Wish

    def measured(self) -> Job:
        return cache.measured("", self.run.name, self.split, self.run.stamp, self.collection)

    def weighing(self, item: int, view: cache.RunView | None = None, whole: Collection | None = None) -> Job | None:
        """What the loss does to one query's list, here or in another run; None when nobody asks."""
        view, whole, wish = view or self.run, whole or self.collection, self.wish
        code = why_this_rank.code_of(wish.why, wish.knobs)
        about = (view.name, self.split, view.stamp, item, code, wish.why, wish.knobs, whole)
        return why_this_rank.weighed(*about) if wish.why else None

    def weighed(self, item: int, *other: Any) -> Weighed | None:
        weighing = self.weighing(item, *other)
        return None if weighing is None else background.if_ready(weighing)


def page_of(about: str, count: int, size: int) -> tuple[int, int]:
    """First and last place (0-based, end left out) on screen. Every query starts on its own first page."""
    page_frame.keep(f"page of {about}", 1, range(1, _pages(count, size) + 1), link="page")
    page = st.session_state[f"page of {about}"] - 1
    return page * size, min((page + 1) * size, count)


def turn_pages(about: str, count: int, size: int) -> None:
    """The pages' numbers, where there are several."""
    if _pages(count, size) > 1:
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.pagination(_pages(count, size), key=f"page of {about}")


def _pages(count: int, size: int) -> int:
    return max(1, -(-count // size))
