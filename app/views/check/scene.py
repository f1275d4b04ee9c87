"""What the Check page is about, the neighbours that it looks at, and the way from an image to Browse."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

import lab.search
from app.results.cache import RunView
from app.shared import background, page_frame
from lab.core.results import Ranking
from lab.evaluation.collection import Collection

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

    run: RunView
    split: str
    whole: Collection

    @property
    def names(self) -> list[str]:
        """Of the classes."""
        return self.whole.images.class_names

    def ranking(self) -> Ranking:
        """The first `DEPTH` of the gallery for every query; while they are looked for, the page ends here."""
        return background.or_wait(_neighbours(self.run.name, self.split, self.run.stamp, self.whole))

    def link(self, label: str, **query: str) -> None:
        """A link to Browse. query: what its address says besides run and split."""
        page_frame.link_to("browse", label, {"run": self.run.name, "split": self.split, **query})


@background.job("Looking for the neighbours of every image", keep=4)
def _neighbours(name: str, split: str, stamp: float, _whole: Collection) -> Ranking:
    return _whole.exact(DEPTH).rank(_whole.query, same_source=_whole.same_source)


@background.job("Comparing every image with those that were trained on", keep=4)
def trained_neighbours(name: str, split: str, stamp: float, _whole: Collection, _train: Collection | None) -> Ranking:
    """The nearest training images of every query of a split, by the run's embeddings, or by small pictures where the
    training images are not embedded."""
    if _train is not None:
        index = lab.search.create("exact", device=_whole.device, k=min(NEAREST_TRAINED, len(_train.gallery)))
        return index.build(_train.gallery).rank(_whole.query, same_source=False)
    from lab.evaluation.pixels import nearest_by_pixels  # with torchvision, which takes a second to load

    images, items = _whole.images, _whole.query.items
    return nearest_by_pixels(images, items, images.splits["train"].items, SIDE, NEAREST_TRAINED)


def ask_k() -> int:
    """Draw the slider that says how many neighbours count."""
    page_frame.keep("check k", 5, range(1, DEPTH + 1), link="k")
    return st.slider("Neighbours per image", 1, DEPTH, key="check k", width=280, persist_state="session")


def choose(_section: str, item: int) -> None:
    """An image was clicked."""
    st.session_state[ITEM] = item
