"""Cached calls: bounded, shared by all sessions, and keyed by what is on disk, so that a rewritten run is read anew.

Only bytes, strings and read-only objects are kept; never an open image.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st
from PIL import Image

import lab.runs
from app import settings, thumbnails, uploads
from app.collection import Collection
from app.race import Anchors, Course
from app.rivals import Reranked, TwoStage
from lab.data._base import ImageSet
from lab.runs.evaluate import embedder

SPLITS = ("test", "validation", "train")
"""The order in which pages offer splits: unseen classes first."""


@dataclass(frozen=True)
class RunView:
    """What pages need to know of a run. stamp: changes when its embeddings do. summary: what trained it, in words."""

    name: str
    stamp: float
    splits: tuple[str, ...]
    summary: str


def run_path(name: str) -> Path:
    """Folder of a run, which must lie directly in the folder of runs.

    Raises:
        ValueError: the name leads elsewhere, or there is no such folder.
    """
    root = settings.runs_root()
    path = (root / name).resolve()
    if path.parent != root or not path.is_dir():
        raise ValueError(f"There is no run {name!r} in {root}.")
    return path


@st.cache_resource(max_entries=4, show_spinner=False)
def images(name: str, stamp: float) -> ImageSet:
    """The data set of a run."""
    return lab.runs.open(run_path(name)).dataset()


@st.cache_resource(max_entries=6, show_spinner="Reading the embeddings ...")
def collection(name: str, split: str, stamp: float) -> Collection:
    """One split of a run, ready to be searched."""
    run = lab.runs.open(run_path(name))
    query = run.embeddings(split)
    gallery = run.embeddings(split, "gallery") or query
    stored = run.per_query(split) if run.scores(split) else {}
    return Collection(images(name, stamp), query, gallery, run.config_of(split).similarity, stored)


@st.cache_resource(max_entries=4, show_spinner="Ranking anew ...")
def reranked(name: str, split: str, stamp: float, method: str) -> Reranked:
    """The same split re-ranked."""
    return Reranked(f"re-ranked, {method.replace('_', '-')}", collection(name, split, stamp), method)


@st.cache_resource(max_entries=4, show_spinner="Filing the gallery under its anchors ...")
def two_stage(name: str, split: str, stamp: float, visited: int) -> TwoStage:
    """The same split searched by class anchors.

    Raises:
        ValueError: the run's model has no anchors.
    """
    found = lab.runs.open(run_path(name)).anchors(split)
    if found is None:
        raise ValueError(
            "Two-stage search needs class anchors, and this model has none; train one with class_anchor_margin."
        )
    words = f"two-stage, {visited} anchor{'s' if visited > 1 else ''} visited"
    return TwoStage(words, collection(name, split, stamp), *found, visited=visited)


@st.cache_resource(max_entries=4, show_spinner="Filing the gallery under its anchors ...")
def course(name: str, split: str, stamp: float) -> Course:
    """The same split filed under the run's class anchors, or under its class means when the run learnt none."""
    whole, found = collection(name, split, stamp), lab.runs.open(run_path(name)).anchors(split)
    return Course(whole, Anchors.means(whole.gallery) if found is None else Anchors(*found, learnt=True))


@st.cache_data(max_entries=20_000, show_spinner=False)
def thumbnail(name: str, stamp: float, item: int, side: int = thumbnails.SIDE) -> str:
    """An image of a run's data set as a data URI; empty when the file cannot be read any more."""
    try:
        return thumbnails.thumbnail(images(name, stamp).load(item), side)
    except ValueError:
        return ""


@st.cache_data(max_entries=2_000, show_spinner=False)
def pair_thumbnail(name: str, stamp: float, first: int, second: int) -> str:
    """Two images of a run's data set side by side as a data URI; empty when one cannot be read any more."""
    try:
        both = [images(name, stamp).load(item) for item in (first, second)]
    except ValueError:
        return ""
    return thumbnails.side_by_side(*both)


@st.cache_resource(max_entries=2, show_spinner=False)
def _embedder(name: str, split: str, stamp: float):
    return embedder(lab.runs.open(run_path(name)), split)


@st.cache_data(max_entries=32, show_spinner="Embedding the picture ...")
def embedded(name: str, split: str, stamp: float, data: bytes) -> np.ndarray:
    """Embedding [d] of an uploaded picture, made as those of the split were."""
    records = _embedder(name, split, stamp)(_OnePicture(uploads.picture(data)), np.zeros(1, np.int64), "the picture")
    while True:
        try:
            next(records)
        except StopIteration as finished:
            return finished.value.vectors[0]


class _OnePicture:
    """An upload where a data set is expected."""

    labels = np.zeros(1, np.int64)
    pixels = None

    def __init__(self, image: Image.Image):
        self._image = image

    def load(self, i: int) -> Image.Image:
        return self._image
