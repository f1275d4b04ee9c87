"""Leakage: images of the test split that were trained on, or nearly."""

from __future__ import annotations

import numpy as np
import streamlit as st

import lab.search
from app.results import cache
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import background
from lab.core.results import EmbeddingSet, Ranking
from lab.core.streams import result_of
from lab.data import ImageSet

DEPTH = 3
"""Training images that are looked at for each image."""
SIDE = 16
"""Pixels a side of the small pictures that are compared."""
MOST = 60_000
"""Images that are read from their files."""


@background.job("Comparing every image with those that were trained on", keep=4)
def compared(name: str, split: str, stamp: float, by: str, _whole: Collection, _train: Collection | None) -> Ranking:
    """The nearest training images of every query of a split, by the run's embeddings or by small pictures."""
    if by == "embeddings":
        assert _train is not None
        query, train = _whole.query, _train.gallery
    else:
        items = np.asarray(_whole.images.splits["train"].items)
        query, train = by_pixels(_whole.images, _whole.query.items, items)
    return (
        lab.search.create("exact", device=_whole.device, k=min(DEPTH, len(train)))
        .build(train)
        .rank(query, same_source=False)
    )


def by_pixels(images: ImageSet, items: np.ndarray, train: np.ndarray) -> tuple[EmbeddingSet, EmbeddingSet]:
    """Two lists of images as small pictures less the mean picture of the second."""
    from lab.evaluation.pixels import embed_pixels  # with torchvision, which takes a second to load

    return tuple(  # type: ignore[return-value]  # two of them
        result_of(embed_pixels(images, some, train, SIDE, "images")) for some in (items, train)
    )


def ranking(run: RunView, split: str, whole: Collection) -> tuple[Ranking, np.ndarray, str] | None:
    """The comparison, the training images' numbers by position, and how it was made in words; None, after a sentence
    that says so, where there is nothing to compare."""
    if split == "train":
        st.info("These are the training images themselves; choose another split at the left.")
        return None
    train = cache.collection(run.name, "train", run.stamp) if "train" in run.splits else None
    trained = whole.images.splits.get("train")
    if train is None and (trained is None or not len(trained)):
        st.info("It is not known which images this run was trained on, so leakage cannot be checked.")
        return None
    count = len(whole.query) + len(trained or ())
    if train is None and count > MOST:
        st.info(
            f"The training images are not embedded, and {count:,} images are too many to be read here. Embed them: "
            f"lab evaluate {run.name} --split train."
        )
        return None
    by = "pixels" if train is None else "embeddings"
    comparison = background.or_wait(compared(run.name, split, run.stamp, by, whole, train))
    words = {
        "embeddings": "compared by the run's embeddings",
        "pixels": f"compared as small pictures of {SIDE} x {SIDE} pixels, since the training images are not embedded "
        "(lab evaluate RUN --split train does that, and finds crops and other colours as well)",
    }[by]
    items = train.gallery.items if train is not None else np.asarray(whole.images.splits["train"].items)
    return comparison, items, words
