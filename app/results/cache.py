"""Cached calls: bounded, shared by all sessions, and keyed by what is on disk, so that a rewritten run is read anew.

What may take long is a job: it is begun here and done behind the page. Only bytes, strings and read-only objects
are kept; never an open image. What a page asks for hundreds of times goes through `lru_cache`: a look into Streamlit's
caches takes a quarter of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from PIL import Image

import lab
import lab.encoders
import lab.runs
from app.results import thumbnails, uploads
from app.shared import background, settings
from lab.data import ImageSet
from lab.evaluation import comparison
from lab.evaluation.collection import Collection
from lab.evaluation.comparison import OtherRanking
from lab.evaluation.two_stage import Anchors, InvertedGallery
from lab.kernels.devices import device_or_cpu

if TYPE_CHECKING:
    from lab.inspect import AlikeRegions
    from lab.model import Model

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
    device = device_or_cpu(config.training.knobs.device)
    return Collection(images(name, stamp), query, gallery, config.similarity, stored, device)


MANY = 50_000
"""Images from which on an index is built behind the page: it takes seconds for a million."""


def searchable(view: RunView, split: str, whole: Collection, deep: bool = False) -> bool:
    """Whether a split can be searched at once; while its index is built, a line on the page says so.

    Args:
        deep: in the index that keeps the whole list.
    """
    if len(whole.gallery) < MANY:
        return True
    return background.if_ready(_prepared(view.name, split, view.stamp, deep, whole)) is not None


@background.job("Building the index of all images", keep=12)
def _prepared(name: str, split: str, stamp: float, deep: bool, _whole: Collection) -> bool:
    return _whole.prepare(deep)


@background.job("Measuring every query", keep=16)
def measured(of: str, name: str, split: str, stamp: float, _whole: Collection | OtherRanking) -> dict[str, np.ndarray]:
    """Column to float64 [q], a value for every query of a split. of: "" as the run ranks it, or another's code."""
    return _whole.measure()


@background.job("Re-ranking every query", keep=3)
def reranked(name: str, split: str, stamp: float, method: str, _whole: Collection) -> OtherRanking:
    """The same split re-ranked.

    Raises:
        ValueError: it has too many pairs.
    """
    return comparison.reranked(method, _whole)


@background.job("Building the index", keep=3)
def searched(name: str, split: str, stamp: float, engine: str, _whole: Collection) -> OtherRanking:
    """The same split, searched by an approximate index.

    Raises:
        ImportError: the engine's library is missing.
    """
    return comparison.searched(engine, _whole)


@background.job("Assigning the gallery to the anchors", keep=3)
def inverted(name: str, split: str, stamp: float, _whole: Collection) -> InvertedGallery:
    """The same split filed under the run's class anchors, or under its class means when the run learnt none."""
    anchors = lab.runs.open(run_path(name)).anchors(split)
    return InvertedGallery(
        _whole, Anchors.means(_whole.gallery) if anchors is None else Anchors(*anchors, learnt=True)
    ).prepare()


@background.job("Ranking queries for the curves", keep=3)
def surveyed(name: str, split: str, stamp: float, _filed: InvertedGallery) -> InvertedGallery:
    """The same filed gallery, whose curves and losers are quick."""
    return _filed.survey()


def thumbnail(name: str, stamp: float, item: int, side: int = thumbnails.SIDE) -> str:
    """An image of a run's data set as a data URI; empty while the file cannot be read: its disk may come back."""
    try:
        return _thumbnail(name, stamp, item, side)
    except ValueError:
        return ""


@lru_cache(maxsize=20_000)
def _thumbnail(name: str, stamp: float, item: int, side: int) -> str:
    return thumbnails.thumbnail(images(name, stamp).load(item), side)


def pair_thumbnail(name: str, stamp: float, first: int, second: int) -> str:
    """Two images of a run's data set side by side as a data URI; empty while one cannot be read."""
    try:
        return _pair_thumbnail(name, stamp, first, second)
    except ValueError:
        return ""


@lru_cache(maxsize=2_000)
def _pair_thumbnail(name: str, stamp: float, first: int, second: int) -> str:
    left, right = (images(name, stamp).load(item) for item in (first, second))
    return thumbnails.side_by_side(left, right)


@background.job("Embedding the picture", keep=32)
def embedded(name: str, split: str, stamp: float, digest: str, _data: bytes, box: Box | None = None) -> np.ndarray:
    """Embedding [d] of an uploaded picture, or of a part of it, made as those of the split were.

    digest: tells its bytes apart.
    """
    return model(name, split, stamp).embed(cropped(uploads.picture(_data), box))[0]


@background.job("Embedding the part of the picture", keep=32)
def embedded_part(name: str, split: str, stamp: float, item: int, box: Box, _images: ImageSet) -> np.ndarray:
    """Embedding [d] of a part of one of the run's images."""
    return model(name, split, stamp).embed(cropped(_images.load(item), box))[0]


@background.job("Reading the words", keep=32)
def embedded_words(name: str, split: str, stamp: float, words: str) -> np.ndarray:
    """Embedding [d] of words, by an encoder that has a text side."""
    return model(name, split, stamp).embed_text(words)[0]


@background.job("Looking for the regions that make them alike", keep=16)
def alike(name: str, split: str, stamp: float, first: int, second: int, _images: ImageSet) -> AlikeRegions:
    """Which regions of two of the run's images make their similarity."""
    return model(name, split, stamp).why_alike(_images.load(first), _images.load(second))


Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of a picture, as shares of its width and height."""


def cropped(image: Image.Image, box: Box | None) -> Image.Image:
    """A part of a picture, at least a pixel; all of it for None."""
    if box is None:
        return image
    left, top, right, bottom = (round(share * side) for share, side in zip(box, 2 * image.size, strict=True))
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


def provenance(name: str, split: str) -> str:
    """Checkpoint and step of a split's embeddings, in the same words on every page: `best checkpoint, step 800 of
    1,000`."""
    return lab.runs.open(run_path(name)).origin(split).words


def has_encoder(name: str) -> bool:
    """Whether a run holds an encoder, so that pictures of any kind can be searched with."""
    run = lab.runs.open(run_path(name))
    return run.used_checkpoint(_evaluated(str(run.path), (run.path / "config.yaml").stat().st_mtime_ns)) is not None


@lru_cache(maxsize=500)
def _evaluated(path: str, changed: int) -> str:
    """Which checkpoint a run's configuration asks for; read once as long as the file stays."""
    return lab.runs.Run(path).config.evaluation.knobs.checkpoint


def has_text_side(name: str) -> bool:
    """Whether the encoder that a run was trained with puts words where its pictures are."""
    config = lab.runs.open(run_path(name)).config
    return not config.outside and hasattr(lab.encoders.get(config.encoder.name), "embed_text")


@lru_cache(maxsize=2)
def model(name: str, split: str, stamp: float) -> Model:
    """A run in use: its encoder takes seconds to load, which few clicks need."""
    return lab.load(lab.runs.open(run_path(name)), split)
