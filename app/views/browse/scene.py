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
from app.forms import sliders
from app.results import run_choice
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from app.shared.background import Job
from lab.core.knobs import describe
from lab.core.knobs.labels import entry_in_words
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

    view: SplitView
    other: ComparisonChoice | None
    size: int
    k: int
    chosen: Filter
    loss: str
    knobs: dict[str, Any]
    click: str

    def weighing(self, item: int, view: SplitView | None = None) -> Job | None:
        """What the loss does to one query's list, here or in another run; None when nobody asks."""
        code = json.dumps([self.loss, self.knobs], sort_keys=True)
        return _weighed(view or self.view, item, code, self.loss, self.knobs) if self.loss else None

    def weighed(self, item: int, view: SplitView | None = None) -> WeighedList | None:
        weighing = self.weighing(item, view)
        return None if weighing is None else background.if_ready(weighing)


@background.job("Computing how the loss moves every image", keep=16)
def _weighed(view: SplitView, item: int, code: str, _loss: str, _knobs: dict[str, Any]) -> WeighedList:
    """Mostly a few hundredths of a second; half a minute for 6,000 true matches among 60,000 images. Memory is that of
    a tile of pairs."""
    items, similarities, relevant = view.whole.whole_list(item)
    if not relevant.any():
        return WeighedList(items, None)
    gradients = lab.inspect.list_gradients(lab.losses.create(_loss, **_knobs), similarities, relevant)
    return WeighedList(items, replace(gradients, name=entry_in_words(_loss)))


def choose_loss(view: SplitView, k: int) -> tuple[str, dict[str, Any]]:
    """Draw the loss that moves the images, and its knobs; the name is empty while nobody asks."""
    help = (
        "Each picture then shows how strongly this loss, computed for the query over the whole gallery, pulls it "
        "closer or pushes it away."
    )
    losses = {"": "none"} | {name: entry_in_words(name) for name in lab.inspect.list_losses()}
    name = page_frame.select("Loss", losses, key="why", link="why", help=help)
    if not name:
        return "", {}
    declared = lab.losses.get(name).Knobs
    knobs = [knob for knob in describe(declared) if knob.name not in NOT_HERE]
    config = run_choice.described(run_choice.library()[view.run.name])
    trained = Choice.of(SECTIONS["loss"], config.get("loss"), stored=True)
    sliders.adopt(trained, name, knobs, root := f"why.{name}")
    values = sliders.panel(knobs, root)
    sliders.tell(trained, name, values)
    return name, values | ({"k": (k,)} if "k" in declared.model_fields else {})


def choose_click(offered: Sequence[str]) -> str:
    """Draw the choice of what a click does."""
    ways = {one: CLICKS[one] for one in offered}
    return page_frame.select("A click on a result", ways, key="click", link="click", width=200)


def search_with(item: int) -> None:
    """An image is the next query."""
    st.session_state["query"] = item
    if st.session_state.get("source") == "upload":
        st.session_state["source"] = "random"


def explained_result(view: SplitView, query: int) -> int | None:
    """The result that is to be explained, or None."""
    return address.follow(PAIR, int, lambda one: view.whole.position(one) is not None and one != query)


def page_key(about: object) -> str:
    """Where the page of an answer stands in the session's state: every query starts on its own first page."""
    return f"page of {about}"


def turn_pages(about: object, count: int, size: int) -> None:
    """The pages' numbers, where there are several."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        page_frame.turn(page_key(about), count, size)
