"""Cached calls: bounded, shared by all sessions, and keyed by what is on disk, so that a rewritten run is read anew.

What may take long is an job: it is begun here and done behind the page. Only bytes, strings and read-only objects
are kept; never an open image.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

import lab.runs
from lab.core.streams import result_of
from lab.dashboard.answers.comparison import OtherRanking, Reranked, Searched
from lab.dashboard.answers.two_stage_cost import Anchors, FiledGallery
from lab.dashboard.results import thumbnails, uploads
from lab.dashboard.results.collection import Collection
from lab.dashboard.shared import background, settings
from lab.dashboard.views.train.devices import at_hand
from lab.data import ImageSet

if TYPE_CHECKING:
    from lab.core.records import Record
    from lab.core.results import EmbeddingSet


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
    """The data set of a run.

    Raises:
        ValueError: its images lie where this dashboard may not look.
    """
    run = lab.runs.open(run_path(name))
    settings.confine(run.config)
    return settings.confine_images(run.dataset())


@st.cache_resource(max_entries=6, show_spinner="Reading the embeddings ...")
def collection(name: str, split: str, stamp: float) -> Collection:
    """One split of a run, ready to be searched."""
    run = lab.runs.open(run_path(name))
    query = run.embeddings(split)
    gallery = run.embeddings(split, "gallery") or query
    stored = run.per_query(split) if run.scores(split) else {}
    config = run.config_of(split)
    return Collection(images(name, stamp), query, gallery, config.similarity, stored, at_hand(config))


@background.job("Measuring every query", keep=16)
def measured(of: str, name: str, split: str, stamp: float, _whole: Collection | OtherRanking) -> dict[str, np.ndarray]:
    """Column to float64 [q], a value for every query of a split. of: "" as the run ranks it, or a rival's code."""
    return _whole.measure()


@background.job("Re-ranking every query", keep=3)
def reranked(name: str, split: str, stamp: float, method: str, _whole: Collection) -> Reranked:
    """The same split re-ranked.

    Raises:
        ValueError: it has too many pairs.
    """
    return Reranked.by(method, _whole)


@background.job("Building the index", keep=3)
def searched(name: str, split: str, stamp: float, engine: str, _whole: Collection) -> Searched:
    """The same split, searched by an approximate index.

    Raises:
        ImportError: the engine's library is missing.
    """
    return Searched.by(engine, _whole)


@background.job("Assigning the gallery to the anchors", keep=3)
def course(name: str, split: str, stamp: float, _whole: Collection) -> FiledGallery:
    """The same split filed under the run's class anchors, or under its class means when the run learnt none."""
    anchors = lab.runs.open(run_path(name)).anchors(split)
    return FiledGallery(
        _whole, Anchors.means(_whole.gallery) if anchors is None else Anchors(*anchors, learnt=True)
    ).prepare()


@background.job("Ranking queries for the curves", keep=3)
def surveyed(name: str, split: str, stamp: float, _course: FiledGallery) -> FiledGallery:
    """The same course, whose curves and losers are quick."""
    return _course.survey()


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
        left, right = (images(name, stamp).load(item) for item in (first, second))
    except ValueError:
        return ""
    return thumbnails.side_by_side(left, right)


@background.job("Embedding the picture", keep=32)
def embedded(name: str, split: str, stamp: float, digest: str, _data: bytes) -> np.ndarray:
    """Embedding [d] of an uploaded picture, made as those of the split were. digest: tells its bytes apart."""
    from lab.runs.images import Unlabelled  # with torch, as `_embedder`

    picture = Unlabelled([uploads.picture(_data)])
    records = _embedder(name, split, stamp)(picture, np.zeros(1, np.int64), "the picture")
    return result_of(records).vectors[0]


@lru_cache(maxsize=2)
def _embedder(name: str, split: str, stamp: float) -> Callable[..., Generator[Record, None, EmbeddingSet]]:
    from lab.runs.evaluate import embedder  # torchvision and what it loads take seconds, which only an upload needs

    return embedder(lab.runs.open(run_path(name)), split)
