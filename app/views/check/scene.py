"""What the Check page is about, what it looks at, and the image that was clicked."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.results import cache
from app.results.cache import SplitView
from app.shared import background
from lab.core.results import EmbeddingSet, Ranking
from lab.inspect.near_duplicates import near_duplicates
from lab.report import same_queries
from lab.runs import Run

DEPTH = 20
"""Neighbours that are kept of every image."""
ITEM = "check item"
"""In the session's state: the image that was clicked."""


@dataclass(frozen=True)
class Scene:
    """What the page shows: a split of a run, or all images of its data set."""

    view: SplitView

    @property
    def names(self) -> list[str]:
        """Of the classes."""
        return self.view.images.class_names

    def whole(self) -> EmbeddingSet:
        """Features of unit length of all images, whatever their split; while they are made, the page ends here."""
        return background.or_wait(cache.features(self.view))


@background.job("Looking for images that come twice", keep=8)
def alike(view: SplitView, least: float, _whole: EmbeddingSet) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of images of any splits that are at least so similar, as rows int64 [p 2], and how similar, [p]; the most
    similar first."""
    return near_duplicates(_whole.vectors, least)


@background.job("Looking for the neighbours of every image", keep=4)
def neighbours(view: SplitView) -> Ranking:
    """The first `DEPTH` of the gallery images that have a class, for every query that has one."""
    return view.collection.known_neighbours(DEPTH)


@background.job("Comparing with the run before the corrections", keep=8)
def effect(view: SplitView, name: str, _before: Run) -> str:
    """What a run has gained over the one that it repeats with other corrections, in words."""
    return same_queries.effect(_before, view.run.folder, view.split)


def choose(_section: str, item: int) -> None:
    """An image was clicked."""
    st.session_state[ITEM] = item
