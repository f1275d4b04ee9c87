"""What the Browse page is about: a run, a split, perhaps another answer, and what somebody wants to see of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st

import lab.inspect
import lab.losses
from app.answers.comparison_choice import ComparisonChoice
from app.forms import loss_knobs, sliders
from app.results import cache, run_choice
from app.shared import address, background, page_frame
from app.shared.background import Job
from lab.core.knobs import describe
from lab.core.knobs.labels import entry_in_words
from lab.evaluation.collection import Collection
from lab.evaluation.filters import Filter
from lab.inspect import ListGradients
from lab.runs.config import SECTIONS, Choice

CLICKS = {
    "search": "Search with it",
    "why": "Explain the similarity",
    "judge": "Mark it right or wrong",
    "like": "Find more like it",
    "unlike": "Find less like it",
}
PAIR = "pair"
"""In the session's state: the result that is explained."""
NOT_HERE = ("variant", "include_self", "simix", "seed", "k")
"""Knobs that make no difference to one list, and k, which the page has already."""


@dataclass(frozen=True)
class WeighedList:
    """A list with what a loss does to it. items: int64 [g], the image of each. gradients: None where there is no true
    match, so that no loss moves anything."""

    items: np.ndarray
    gradients: ListGradients | None

    def of(self, item: int) -> float | None:
        """The gradient of one image, in units of the largest; None when it is not on the list."""
        place = self._place.get(item)
        if self.gradients is None or place is None:
            return None
        return float(self.gradients.gradients[place]) / (self.gradients.scale or 1.0)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {int(item): at for at, item in enumerate(self.items)}


@dataclass(frozen=True)
class Scene:
    """What the page shows.

    size: neighbours on a page. k: of the metrics. chosen: the filter. loss, knobs: what each image is moved by (no
    name: none). click: what a click on a result does.
    """

    run: cache.RunView
    split: str
    collection: Collection
    other: ComparisonChoice | None
    size: int
    k: int
    chosen: Filter
    loss: str
    knobs: dict[str, Any]
    click: str

    def measured(self) -> Job[dict[str, np.ndarray]]:
        return cache.measured("", self.run.name, self.split, self.run.stamp, self.collection)

    def weighing(self, item: int, run: cache.RunView | None = None, whole: Collection | None = None) -> Job | None:
        """What the loss does to one query's list, here or in another run; None when nobody asks."""
        run, code = run or self.run, json.dumps([self.loss, self.knobs], sort_keys=True)
        about = (run.name, self.split, run.stamp, item, code, self.loss, self.knobs, whole or self.collection)
        return _weighed(*about) if self.loss else None

    def weighed(self, item: int, *other: Any) -> WeighedList | None:
        weighing = self.weighing(item, *other)
        return None if weighing is None else background.if_ready(weighing)


@background.job("Computing how the loss moves every image", keep=16)
def _weighed(
    name: str, split: str, stamp: float, item: int, code: str, _loss: str, _knobs: dict[str, Any], _whole: Collection
) -> WeighedList:
    """Mostly a few hundredths of a second; half a minute for 6,000 true matches among 60,000 images. Memory is that of
    a tile of pairs."""
    items, similarities, relevant = _whole.whole_list(item)
    if not relevant.any():
        return WeighedList(items, None)
    gradients = lab.inspect.list_gradients(lab.losses.create(_loss, **_knobs), similarities, relevant)
    return WeighedList(items, replace(gradients, name=entry_in_words(_loss)))


def choose_loss(run: cache.RunView, k: int) -> tuple[str, dict[str, Any]]:
    """Draw the loss that moves the images, and its knobs; the name is empty while nobody asks."""
    name = page_frame.select(
        "Loss", ["", *lab.inspect.list_losses()], key="why", format=lambda one: entry_in_words(one) or "none",
        link="why",
        help="Each picture then shows how strongly this loss, computed for the query over the whole gallery, pulls it "
        "closer or pushes it away.",
    )  # fmt: skip
    if not name:
        return "", {}
    declared = lab.losses.get(name).Knobs
    knobs = [knob for knob in describe(declared) if knob.name not in NOT_HERE]
    trained = Choice.of(SECTIONS["loss"], run_choice.described(run_choice.library()[run.name]).get("loss"), stored=True)
    root = f"why.{name}"
    loss_knobs.adopt(trained, name, knobs, root)
    values = sliders.panel(knobs, root)
    loss_knobs.tell(trained, name, values)
    return name, values | ({"k": (k,)} if "k" in declared.model_fields else {})


def choose_click(offered: Sequence[str]) -> str:
    """Draw the choice of what a click does."""
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


def explained_result(whole: Collection, query: int) -> int | None:
    """The result that is to be explained, or None."""
    address.adopt(PAIR, int, lambda one: whole.position(one) is not None, default=None)
    item = st.session_state.get(PAIR)
    item = None if whole.position(item) is None or item == query else item
    address.tell(PAIR, item)
    return item


def page_of(about: str, count: int, size: int) -> tuple[int, int]:
    """First and last place (0-based, end left out) on screen. Every query starts on its own first page."""
    page_frame.keep(f"page of {about}", 1, range(1, max(1, -(-count // size)) + 1), link="page")
    page = st.session_state[f"page of {about}"] - 1
    return page * size, min((page + 1) * size, count)


def turn_pages(about: str, count: int, size: int) -> None:
    """The pages' numbers, where there are several."""
    if count > size:
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.pagination(-(-count // size), key=f"page of {about}")
