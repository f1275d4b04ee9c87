"""The state of the Check page, and its background work."""

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
"""Neighbours of every image."""

ITEM = "check item"
"""Session key of the clicked image."""


@dataclass(frozen=True)
class CheckScene:
    """What the Check page shows: a split of a run, or all images of its data set."""

    view: SplitView

    @property
    def names(self) -> list[str]:
        """Names of the classes."""
        return self.view.images.class_names

    def features(self) -> EmbeddingSet:
        """Return unit-length features of all images of all splits. While they are computed, the page ends here."""
        return background.or_wait(cache.features(self.view))


@background.job("Looking for duplicate images", keep=8)
def alike(view: SplitView, least: float, _features: EmbeddingSet) -> tuple[np.ndarray, np.ndarray]:
    """Find pairs of images with a similarity of at least `least`.

    Returns:
        rows int64 [p 2] and similarities [p], the most similar pair first.
    """
    return near_duplicates(_features.vectors, least)


@background.job("Looking for the neighbours of every image", keep=4)
def neighbours(view: SplitView) -> Ranking:
    """Find the nearest `DEPTH` gallery images with a class, for every query with a class."""
    return view.collection.known_neighbours(DEPTH)


@background.job("Comparing with the run before the corrections", keep=8)
def effect(view: SplitView, name: str, _before: Run) -> str:
    """Describe the improvement of a run over the run that it repeats with other corrections."""
    return same_queries.effect(_before, view.run.folder, view.split)


def choose(_section: str, item: int) -> None:
    """Remember a clicked image."""
    st.session_state[ITEM] = item
