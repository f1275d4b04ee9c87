"""The state of the Map page, and its background work."""

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
"""Most characters of a URL parameter of the browser."""


@dataclass(frozen=True)
class MapScene:
    """What the Map page shows: the images of `sheet` at the positions `flat`, float32 [n 2].

    method: of the map. field: colours the points. item: the clicked image. k: number of its neighbours.
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
        """The images on the map, int64 [n]."""
        return self.sheet.on_map.items

    @cached_property
    def near(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The true neighbours of the clicked image, int64 [k], their verdicts of `compared`, int8 [k], and their
        similarities."""
        assert self.item is not None
        others, scores = self.sheet.neighbours(self.item, self.k)
        labels = [self.sheet.label(other) for other in others.tolist()]
        return others, compared(labels, self.sheet.label(self.item)), scores


@st.cache_resource(max_entries=24, show_spinner=False)
def sheet(name: str, split: str, stamp: float, step: int | None, _collection: Collection) -> Sheet:
    """Return the images of a split, or the validation images after a step, and which of them are on the map."""
    return of_run.sheet(
        lab.runs.open(cache.run_path(name)), split, step, (_collection.query, _collection.gallery)
    )


@background.job("Laying out the map", keep=8)
def pca(name: str, split: str, stamp: float) -> Map:
    """Compute the PCA map of a split, or of the validations over time."""
    return kept.pca_map(lab.runs.open(cache.run_path(name)), split)


@background.job("Building the index of all images", keep=2)
def prepared(name: str, split: str, stamp: float, step: int | None, _sheet: Sheet) -> bool:
    """Build the index of the full space, so that the first click does not wait for it."""
    return _sheet.prepare()


def browser_parameters(version: str) -> dict[str, str]:
    """Return the URL parameters that the browser wrote for some points. version: that of `MapPoints`."""
    values = {}
    for name in BROWSER_PARAMETERS:
        key = f"{name} of {version}"
        address.load(name, str, lambda text: len(text) <= LONGEST, key=key, default="")
        values[name] = st.session_state.get(key, "")
        address.store(name, values[name], "")
    return values


def select(view: SplitView, items: np.ndarray, chosen: np.ndarray) -> None:
    """Select some of the images on the map, int64 [n]. The selection of other images does not change."""
    selection.chooser(view.run, items)(np.intersect1d(chosen, items))
    st.session_state.pop("selection page", None)


def pick(item: int) -> None:
    """Remember a clicked image."""
    st.session_state["item"] = item


def neighbours(
    view: SplitView, others: np.ndarray, verdicts: np.ndarray, values: Sequence[str] = ()
) -> list[Card]:
    """Return the cards of an image's neighbours int64 [k].

    verdicts: int8 [k], as `compared` returns them. values: a label for each card.
    """
    near = []
    for index, right in enumerate(cards.right(view.images, verdicts)):
        value = values[index] if values else ""
        near.append(cards.card(view, others[index], rank=index + 1, right=right, value=value))
    return near


def deselect() -> None:
    """Draw the button that forgets the clicked image."""
    st.button(
        "Deselect", icon=":material/close:", on_click=lambda: st.session_state.pop("item", None)
    )
