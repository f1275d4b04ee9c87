"""What the Check page is about, the neighbours that it looks at, and the image that was clicked."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

import lab.search
from app.results.cache import SplitView
from app.shared import background, page_frame
from lab.core.results import Ranking

DEPTH = 20
"""Neighbours that are kept of every image."""
NEAREST_TRAINED = 3
"""Training images that are looked at for each image."""
SIDE = 16
"""Pixels a side of the small pictures that are compared."""
ITEM = "check item"
"""In the session's state: the image that was clicked."""


@dataclass(frozen=True)
class Scene:
    """What the page shows: a split of a run."""

    view: SplitView

    @property
    def names(self) -> list[str]:
        """Of the classes."""
        return self.view.images.class_names

    def ranking(self) -> Ranking:
        """The first `DEPTH` of the gallery for every query; while they are looked for, the page ends here."""
        return background.or_wait(_neighbours(self.view))


@background.job("Looking for the neighbours of every image", keep=4)
def _neighbours(view: SplitView) -> Ranking:
    return view.whole.exact(DEPTH).rank(view.whole.query, same_source=view.whole.same_source)


@background.job("Comparing every image with those that were trained on", keep=4)
def trained_neighbours(view: SplitView, train: SplitView | None) -> Ranking:
    """The nearest training images of every query of a split, by the run's embeddings, or by small pictures where the
    training images are not embedded."""
    whole, images = view.whole, view.images
    if train is not None:
        gallery = train.whole.gallery
        index = lab.search.create("exact", device=whole.device, k=min(NEAREST_TRAINED, len(gallery)))
        return index.build(gallery).rank(whole.query, same_source=False)
    from lab.evaluation.pixels import nearest_by_pixels  # with torchvision, which takes a second to load

    return nearest_by_pixels(images, whole.query.items, images.splits["train"].items, SIDE, NEAREST_TRAINED)


def ask_k() -> int:
    """Draw the slider that says how many neighbours count."""
    return page_frame.slide("Neighbours per image", 1, DEPTH, key="check k", initial=5, link="k", width=280)


def choose(_section: str, item: int) -> None:
    """An image was clicked."""
    st.session_state[ITEM] = item
