"""What the Map page is about, what it keeps between two clicks, and what of that stands in its address."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

import lab.runs
from app.components.gallery import Card
from app.components.scatter import BROWSER_PARAMETERS
from app.results import cache, cards, selection
from app.results.cache import SplitView
from app.shared import address, background
from lab.core.results import compared
from lab.evaluation.collection import Collection
from lab.maps import kept, of_run
from lab.maps.of_run import Map, Sheet

LONGEST = 500
"""Characters of one thing that the browser keeps in the address."""


@dataclass(frozen=True)
class Scene:
    """What the page shows: the images of `sheet` at the places `flat`, float32 [n 2].

    method: that the map was drawn by. field: that colours it. item: the clicked image. k: its neighbours.
    """

    view: SplitView
    sheet: Sheet
    flat: np.ndarray
    method: str
    field: str
    item: int | None
    k: int

    @property
    def items(self) -> np.ndarray:
        """Those on the map, int64 [n]."""
        return self.sheet.on_map.items

    @cached_property
    def near(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The true neighbours of the clicked image, int64 [k], whether they are of its class, int8 [k] as `compared`
        says it, and how similar they are."""
        assert self.item is not None
        others, scores = self.sheet.neighbours(self.item, self.k)
        labels = [self.sheet.label(other) for other in others.tolist()]
        return others, compared(labels, self.sheet.label(self.item)), scores


@st.cache_resource(max_entries=24, show_spinner=False)
def sheet(name: str, split: str, stamp: float, step: int | None, _whole: Collection) -> Sheet:
    """The images of a split, or the validation images after a step, and which of them are shown."""
    return of_run.sheet(lab.runs.open(cache.run_path(name)), split, step, (_whole.query, _whole.gallery))


@background.job("Laying out the map", keep=8)
def pca(name: str, split: str, stamp: float) -> Map:
    """The PCA map of a split, or of the validations over time."""
    return kept.pca_map(lab.runs.open(cache.run_path(name)), split)


@background.job("Building the index of all images", keep=2)
def prepared(name: str, split: str, stamp: float, step: int | None, _sheet: Sheet) -> bool:
    """Have the index of the full space at hand, so that the first click does not wait for it."""
    return _sheet.prepare()


def kept_in_address(of: str) -> dict[str, str]:
    """How the browser showed these points when it last wrote into the address. of: that of `MapPoints`."""
    words = {}
    for name in BROWSER_PARAMETERS:
        key = f"{name} of {of}"
        address.load(name, str, lambda text: len(text) <= LONGEST, key=key, default="")
        words[name] = st.session_state.get(key, "")
        address.store(name, words[name], "")
    return words


def select(view: SplitView, items: np.ndarray, chosen: np.ndarray) -> None:
    """Select these of the images on the map, int64 [n], and no others of them; what is not on it stays as it is."""
    selection.chooser(view.run, items)(np.intersect1d(chosen, items))
    st.session_state.pop("selection page", None)


def pick(item: int) -> None:
    """A point or a card was clicked."""
    st.session_state["item"] = item


def neighbours(view: SplitView, others: np.ndarray, verdicts: np.ndarray, values: Sequence[str] = ()) -> list[Card]:
    """Cards of the nearest others int64 [k] of an image. verdicts: int8 [k], whether each is of its class, as
    `compared` says it. values: what each card says."""
    said = zip(others, cards.right(view.images, verdicts), values or [""] * len(others), strict=True)
    return [
        cards.card(view, other, rank=rank, right=right, value=value)
        for rank, (other, right, value) in enumerate(said, 1)
    ]


def deselect() -> None:
    """The button that forgets the clicked image."""
    st.button("Deselect", icon=":material/close:", on_click=lambda: st.session_state.pop("item", None))
