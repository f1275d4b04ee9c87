"""Cached results, bounded in number and shared by all sessions. The keys include modification times of files, so that
a rewritten run is read again.

Slow work is a background job. The caches hold bytes, strings and read-only objects, but no open image. Results that a
page needs hundreds of times use `lru_cache`, because an access to Streamlit's caches takes 0.25 ms.
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
import lab.threshold
from app.components.inputs import Box
from app.results import pictures
from app.shared import background, page_frame, settings
from lab.core.formats import counted
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.evaluation import comparison, identity
from lab.evaluation.collection import Collection
from lab.evaluation.comparison import OtherRanking
from lab.evaluation.identity import Joined, Pictures
from lab.evaluation.two_stage import Anchors, InvertedGallery
from lab.inference.rates import Rate
from lab.inspect.learning import Learning
from lab.kernels.devices import device_or_cpu
from lab.runs import Run
from lab.runs.building.batches import frame
from lab.threshold import Pairs

if TYPE_CHECKING:
    from lab.inspect import AlikeRegions
    from lab.inspect.label_errors import LabelErrors
    from lab.model import Model

SPLITS = ("test", "validation", "train")
"""Splits in the order in which pages offer them: unseen classes first."""

MANY = 50_000
"""Number of images from which an index is built in the background. It takes seconds for a million."""


@dataclass(frozen=True)
class RunView:
    """The facts about a run that pages use.

    stamp: modification time of its embeddings. summary: loss, encoder and data set in words.
    moments: (step, modification time) of each stored validation, in order.
    """

    name: str
    stamp: float
    splits: tuple[str, ...]
    summary: str
    moments: tuple[tuple[int, float], ...] = ()

    def picture(self, *items: int, side: int = pictures.SIDE) -> str:
        """See `thumbnail`."""
        return thumbnail(self.name, self.stamp, *items, side=side)

    @property
    def folder(self) -> Run:
        """The run itself."""
        return lab.runs.open(run_path(self.name))


@dataclass(frozen=True)
class SplitView:
    """A split of a run with its embeddings.

    step: step of a stored validation, or None for the finished model.
    """

    run: RunView
    split: str
    collection: Collection
    step: int | None = None

    @property
    def key(self) -> tuple[str, str, float, int | None]:
        """Changes when the embeddings do."""
        stamp = self.run.stamp
        if self.step is not None:
            stamp = dict(self.run.moments)[self.step]
        return self.run.name, self.split, stamp, self.step

    @property
    def images(self) -> ImageSet:
        """The run's data set."""
        return self.collection.images

    @property
    def provenance(self) -> str:
        """Checkpoint and step of the embeddings: `best checkpoint, step 800 of 1,000`, or `after step 400`."""
        if self.step is not None:
            return f"after step {self.step:,}"
        return self.run.folder.origin(self.split).words

    def link(self, label: str, page: str = "browse", **query: str) -> None:
        """Draw a link to a page about this split. query: further URL parameters."""
        parameters = {"run": self.run.name, "split": self.split}
        if self.step is not None:
            parameters["step"] = str(self.step)
        page_frame.link_to(page, label, {**parameters, **query})

    @property
    def has_encoder(self) -> bool:
        """Whether an encoder is stored, so that new pictures can be queries."""
        if self.step is not None:  # encoders of earlier steps are not stored
            return False
        run = self.run.folder
        return (
            run.used_checkpoint(_evaluated(run.path, settings.written(run.path / "config.yaml")))
            is not None
        )

    def model(self) -> Model:
        """Load the run's model, which takes seconds."""
        return model(self.run.name, self.split, self.run.stamp)


def run_path(name: str) -> Path:
    """Return the folder of a run.

    Raises:
        ValueError: the folder does not exist or is not directly inside the folder of runs.
    """
    root = settings.runs_root()
    path = (root / name).resolve()
    if path.parent != root or name.startswith(".") or not path.is_dir():
        raise ValueError(f"There is no run {name!r} in {root}.")
    return path


@st.cache_resource(max_entries=4, show_spinner=False)
def images(name: str, stamp: float) -> ImageSet:
    """Return the data set of a run.

    Raises:
        ValueError: the dashboard may not read the folder of its images.
    """
    return settings.confine_images(lab.runs.open(run_path(name)).dataset())


@st.cache_resource(max_entries=6, show_spinner="Reading the embeddings ...")
def collection(
    name: str, split: str, stamp: float, step: int | None = None, written: float = 0.0
) -> Collection:
    """Return a split of a run, or its stored validation of a step, for searching.

    written: modification time of the stored validation.
    """
    run = lab.runs.open(run_path(name))
    if step is not None:
        validation = frame(run.frame(step))
        device = device_or_cpu(run.config.training.knobs.device)
        return Collection(
            images(name, stamp), validation, validation, run.config.similarity, device=device
        )
    query = run.embeddings(split)
    gallery = run.embeddings(split, "gallery") or query
    stored = run.per_query(split) if run.scores(split) else {}
    config = run.config_of(split)
    device = device_or_cpu(config.training.knobs.device)
    distractors = config.evaluation.knobs.distractors
    return Collection(
        images(name, stamp), query, gallery, config.similarity, stored, device, distractors
    )


def split_view(run: RunView, split: str, step: int | None = None) -> SplitView:
    """Return a split of a run with its embeddings, or the validation images after a step."""
    if step is None:
        return SplitView(run, split, collection(run.name, split, run.stamp))
    return SplitView(
        run, split, collection(run.name, split, run.stamp, step, dict(run.moments)[step]), step
    )


@dataclass(frozen=True)
class CommonImages:
    """Two splits on their common images, with the item numbers of the first; see `comparison.on_common_images`.

    note: a sentence with the number of joined images, how they were joined, and whether classes differ.
    """

    joined: Joined
    first: Collection
    second: Collection
    note: str


def pictures_of(view: SplitView) -> Pictures:
    """Return the identities of a split's images, by name and content."""
    items = None if view.step is None else view.collection.query.items
    return view.run.folder.pictures(view.split, items)


@st.cache_resource(max_entries=12, show_spinner="Joining the images of both runs ...")
def _common(key: tuple, _first: SplitView, _second: SplitView) -> CommonImages:
    first_pictures = pictures_of(_first)
    second_pictures = pictures_of(_second)

    # Join by name and content; the classes may differ between the runs.
    joined = identity.join([first_pictures, second_pictures])
    first_items, second_items = joined.items
    first_classes = first_pictures.of_items(first_items).classes
    second_classes = second_pictures.of_items(second_items).classes
    first, second = comparison.on_common_images(
        _first.collection, _second.collection, joined, second_classes
    )

    note = joined.sentence
    differing = int((first_classes != second_classes).sum())
    if differing:
        images = counted(differing, "image")
        note += f" {images} of another class in {_second.run.name}: each run is judged by its own classes."
    return CommonImages(joined, first, second, note)


def common(first: SplitView, second: SplitView) -> CommonImages:
    """Return two splits on their common images.

    Raises:
        ValueError: the runs do not say which images they embedded.
    """
    return _common((first.key, second.key), first, second)


def any_view(run: RunView) -> SplitView:
    """Return any split of a run that has embeddings; while it trains, its newest stored validation."""
    if run.splits:
        return split_view(run, run.splits[0])
    return split_view(run, "validation", max(dict(run.moments)))


def searchable(view: SplitView, deep: bool = False) -> bool:
    """Return whether a split can be searched now. While its index is built, a line on the page says so.

    Args:
        deep: search the index that returns the complete ranking.
    """
    return (
        len(view.collection.gallery) < MANY
        or background.if_ready(_prepared(view, deep)) is not None
    )


@background.job("Building the index of all images", keep=12)
def _prepared(view: SplitView, deep: bool) -> bool:
    return view.collection.prepare(deep)


@background.job("Measuring every query", keep=16)
def measured(
    view: SplitView, code: str = "", _other: OtherRanking | None = None
) -> dict[str, np.ndarray]:
    """Compute the metrics of every query of a split, name to float64 [q].

    By default the run's ranking is measured; otherwise another ranking, which `code` identifies.
    """
    return (_other or view.collection).measure()


@background.job("Looking for the nearest image of every query at each stored step", keep=8)
def learning(run: RunView) -> Learning:
    """Compute for which validation images the nearest image is right, at each stored step of a training."""
    steps = []
    hits = []
    for step, _ in run.moments:
        validation = split_view(run, "validation", step).collection
        ranking = validation.exact(1).rank(validation.query, same_source=True)
        steps.append(step)
        hits.append(ranking.hits[:, 0])
    return Learning(np.array(steps), validation.query.items, np.stack(hits))


@background.job("Looking at all images of the data set, which is done once", keep=2)
def features(view: SplitView) -> EmbeddingSet:
    """Compute unit-length features of all images of a data set with a network that was not trained on its labels."""
    from lab.runs import whole_set  # loads torchvision, which most pages do not need

    features = result_of(whole_set.features(view.run.folder))
    lengths = np.linalg.norm(features.vectors, axis=1, keepdims=True)
    return EmbeddingSet(
        features.vectors / np.maximum(lengths, 1e-12), features.labels, features.items
    )


@background.job("Looking for labels that are wrong", keep=4)
def label_errors(view: SplitView, _features: EmbeddingSet) -> LabelErrors:
    """Find labels that are probably wrong. Its `rows` are rows of `features`; images without a label are left out."""
    from lab.inspect.label_errors import label_errors

    return label_errors(_features.vectors, _features.labels)


@background.job("Re-ranking every query", keep=3)
def reranked(view: SplitView, method: str) -> OtherRanking:
    """Re-rank a split.

    Raises:
        ValueError: the split has too many pairs.
    """
    return comparison.reranked(method, view.collection)


@background.job("Assigning the gallery to the anchors", keep=3)
def inverted(view: SplitView) -> InvertedGallery:
    """Build an inverted index of a split: one list per class anchor, or per class mean if the run has no anchors."""
    learnt = view.run.folder.anchors(view.split)
    if learnt is None:
        anchors = Anchors.means(view.collection.gallery)
    else:
        anchors = Anchors(*learnt, learnt=True)
    return InvertedGallery(view.collection, anchors).prepare().survey()


@background.job("Comparing all pairs", keep=2)
def all_pairs(view: SplitView) -> Pairs:
    """Measure the similarities of all pairs of a split."""
    return lab.threshold.measure(view.run.folder, view.split)


@background.job("Counting pairs class by class", keep=64)
def rates(view: SplitView, column: int, _pairs: Pairs) -> dict[str, Rate]:
    """Compute every rate at a threshold, with its confidence interval."""
    return _pairs.rates(column)


def thumbnail(name: str, stamp: float, *items: int, side: int = pictures.SIDE) -> str:
    """Return an image of a run's data set, or two side by side, as a data URI, or "" if a file cannot be read.

    Failures are not cached, because the disk may become available again.
    """
    try:
        return _thumbnail(name, stamp, items, side)
    except ValueError:
        return ""


@lru_cache(maxsize=20_000)
def _thumbnail(name: str, stamp: float, items: tuple[int, ...], side: int) -> str:
    loaded = [images(name, stamp).load(item) for item in items]
    if len(loaded) == 1:
        return pictures.thumbnail(loaded[0], side)
    return pictures.side_by_side(*loaded)


@background.job("Embedding the picture", keep=32)
def embedded(view: SplitView, digest: str, _data: bytes, box: Box | None) -> np.ndarray:
    """Embed an uploaded picture, or a part of it, in the same way as the split. Returns [d].

    digest: hash of the data.
    """
    return view.model().embed(cropped(pictures.picture(_data), box))[0]


@background.job("Embedding the part of the picture", keep=32)
def embedded_part(view: SplitView, item: int, box: Box) -> np.ndarray:
    """Embed a part of one of the run's images. Returns [d]."""
    return view.model().embed(cropped(view.images.load(item), box))[0]


@background.job("Reading the words", keep=32)
def embedded_words(view: SplitView, words: str) -> np.ndarray:
    """Embed words with an encoder of text and images. Returns [d]."""
    return view.model().embed_text(words)[0]


@background.job("Looking for the regions that make them alike", keep=16)
def alike(view: SplitView, first: int, second: int) -> AlikeRegions:
    """Compute which regions of two of the run's images contribute to their similarity."""
    return view.model().why_alike(view.images.load(first), view.images.load(second))


def cropped(image: Image.Image, box: Box | None) -> Image.Image:
    """Return a part of a picture, at least one pixel, or all of it if there is no box."""
    if box is None:
        return image
    width, height = image.size
    left = round(box[0] * width)
    top = round(box[1] * height)
    right = round(box[2] * width)
    bottom = round(box[3] * height)
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


@lru_cache(maxsize=500)
def _evaluated(path: Path, changed: int) -> str:
    """Return which checkpoint a run's configuration evaluates. changed: modification time of the file."""
    return Run(path).config.evaluation.knobs.checkpoint


def has_text_side(run: Run) -> bool:
    """Return whether a run's encoder can also embed text."""
    return not run.config.outside and hasattr(
        lab.encoders.get(run.config.encoder.name), "embed_text"
    )


@lru_cache(maxsize=2)
def model(name: str, split: str, stamp: float) -> Model:
    """See `SplitView.model`."""
    return lab.load(lab.runs.open(run_path(name)), split)
