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
"""The order in which pages offer splits: unseen classes first."""
MANY = 50_000
"""Images from which on an index is built behind the page: it takes seconds for a million."""


@dataclass(frozen=True)
class RunView:
    """What pages need to know of a run. stamp: changes when its embeddings do. summary: what trained it, in words.

    moments: steps of its stored validations, in order, and when each was written.
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
    """A split of a run, and its embeddings. key: changes when these do.

    step: of the stored validation that they are of; None for the finished model.
    """

    run: RunView
    split: str
    whole: Collection
    step: int | None = None

    @property
    def key(self) -> tuple[str, str, float, int | None]:
        stamp = self.run.stamp if self.step is None else dict(self.run.moments)[self.step]
        return self.run.name, self.split, stamp, self.step

    @property
    def images(self) -> ImageSet:
        """The run's data set."""
        return self.whole.images

    @property
    def provenance(self) -> str:
        """Checkpoint and step of the embeddings, in the same words on every page: `best checkpoint, step 800 of
        1,000`; or `after step 400`."""
        return self.run.folder.origin(self.split).words if self.step is None else f"after step {self.step:,}"

    def link(self, label: str, page: str = "browse", **query: str) -> None:
        """A link to a page about this split. query: what its address says besides."""
        moment = {} if self.step is None else {"step": str(self.step)}
        page_frame.link_to(page, label, {"run": self.run.name, "split": self.split, **moment, **query})

    @property
    def has_encoder(self) -> bool:
        """Whether pictures of any kind can be searched with: the encoder of an earlier step is not kept."""
        if self.step is not None:
            return False
        run = self.run.folder
        return run.used_checkpoint(_evaluated(run.path, settings.written(run.path / "config.yaml"))) is not None

    def model(self) -> Model:
        """The run in use: its encoder takes seconds to load, which few clicks need."""
        return model(self.run.name, self.split, self.run.stamp)


def run_path(name: str) -> Path:
    """Folder of a run, which must lie directly in the folder of runs.

    Raises:
        ValueError: the name leads elsewhere, or there is no such folder.
    """
    root = settings.runs_root()
    path = (root / name).resolve()
    if path.parent != root or name.startswith(".") or not path.is_dir():
        raise ValueError(f"There is no run {name!r} in {root}.")
    return path


@st.cache_resource(max_entries=4, show_spinner=False)
def images(name: str, stamp: float) -> ImageSet:
    """The data set of a run.

    Raises:
        ValueError: its images lie where this dashboard may not look.
    """
    return settings.confine_images(lab.runs.open(run_path(name)).dataset())


@st.cache_resource(max_entries=6, show_spinner="Reading the embeddings ...")
def collection(name: str, split: str, stamp: float, step: int | None = None, written: float = 0.0) -> Collection:
    """One split of a run, or its stored validation of a step, ready to be searched. written: changes when that does."""
    run = lab.runs.open(run_path(name))
    if step is not None:
        moment, device = frame(run.frame(step)), device_or_cpu(run.config.training.knobs.device)
        return Collection(images(name, stamp), moment, moment, run.config.similarity, device=device)
    query = run.embeddings(split)
    gallery = run.embeddings(split, "gallery") or query
    stored = run.per_query(split) if run.scores(split) else {}
    config = run.config_of(split)
    device = device_or_cpu(config.training.knobs.device)
    kept = config.evaluation.knobs.distractors
    return Collection(images(name, stamp), query, gallery, config.similarity, stored, device, kept)


def split_view(run: RunView, split: str, step: int | None = None) -> SplitView:
    """A split of a run with its embeddings, or the validation images after a step."""
    moment = () if step is None else (step, dict(run.moments)[step])
    return SplitView(run, split, collection(run.name, split, run.stamp, *moment), step)


@dataclass(frozen=True)
class Common:
    """Two splits on the images that both have, under the numbers of the first; see `comparison.on_common_images`.

    note: how many images were joined by what, how many were not, and whether classes differ.
    """

    joined: Joined
    first: Collection
    second: Collection
    note: str


def pictures_of(view: SplitView) -> Pictures:
    """Which images a split of a run is of, by name and content."""
    moment = None if view.step is None else view.whole.query.items
    return view.run.folder.pictures(view.split, moment)


@st.cache_resource(max_entries=12, show_spinner="Joining the images of both runs ...")
def _common(key: tuple, _first: SplitView, _second: SplitView) -> Common:
    tables = [pictures_of(view) for view in (_first, _second)]
    joined = identity.join(tables)
    mine, theirs = (table.of_items(items).classes for table, items in zip(tables, joined.items, strict=True))
    first, second = comparison.on_common_images(_first.whole, _second.whole, joined, theirs)
    unlike, note = int((mine != theirs).sum()), joined.sentence
    if unlike:
        note += f" {counted(unlike, 'image')} of another class in {_second.run.name}: each run is judged by its own."
    return Common(joined, first, second, note)


def common(first: SplitView, second: SplitView) -> Common:
    """Two splits on the images that both have.

    Raises:
        ValueError: nothing tells which images they are of.
    """
    return _common((first.key, second.key), first, second)


def any_view(run: RunView) -> SplitView:
    """A split of a run that has embeddings, for what is about its whole data set; of one at work, the newest moment."""
    return split_view(run, run.splits[0]) if run.splits else split_view(run, "validation", max(dict(run.moments)))


def searchable(view: SplitView, deep: bool = False) -> bool:
    """Whether a split can be searched at once; while its index is built, a line on the page says so.

    Args:
        deep: in the index that keeps the whole list.
    """
    return len(view.whole.gallery) < MANY or background.if_ready(_prepared(view, deep)) is not None


@background.job("Building the index of all images", keep=12)
def _prepared(view: SplitView, deep: bool) -> bool:
    return view.whole.prepare(deep)


@background.job("Measuring every query", keep=16)
def measured(view: SplitView, code: str = "", _other: OtherRanking | None = None) -> dict[str, np.ndarray]:
    """Column to float64 [q], a value for every query of a split, as the run ranks it or as another ranking does, which
    its code tells from others."""
    return (_other or view.whole).measure()


@background.job("Looking for the nearest image of every query at each stored step", keep=8)
def learning(run: RunView) -> Learning:
    """Which validation images are right at each stored moment of a training."""
    known = [split_view(run, "validation", step).whole for step, _ in run.moments]
    right = [one.exact(1).rank(one.query, same_source=True).hits[:, 0] for one in known]
    return Learning(np.array([step for step, _ in run.moments]), known[-1].query.items, np.stack(right))


@background.job("Looking at all images of the data set, which is done once", keep=2)
def features(view: SplitView) -> EmbeddingSet:
    """Features of unit length of all images of a data set, whatever their split, that no label has taught."""
    from lab.runs import whole_set  # loads torchvision, which most pages do without

    made = result_of(whole_set.features(view.run.folder))
    lengths = np.linalg.norm(made.vectors, axis=1, keepdims=True)
    return EmbeddingSet(made.vectors / np.maximum(lengths, 1e-12), made.labels, made.items)


@background.job("Looking for labels that are wrong", keep=4)
def label_errors(view: SplitView, _whole: EmbeddingSet) -> LabelErrors:
    """Which labels are probably wrong; `rows` are those of `features`. An image without a label is not among them."""
    from lab.inspect.label_errors import label_errors

    return label_errors(_whole.vectors, _whole.labels)


@background.job("Re-ranking every query", keep=3)
def reranked(view: SplitView, method: str) -> OtherRanking:
    """The same split re-ranked.

    Raises:
        ValueError: it has too many pairs.
    """
    return comparison.reranked(method, view.whole)


@background.job("Assigning the gallery to the anchors", keep=3)
def inverted(view: SplitView) -> InvertedGallery:
    """The same split in lists, one for each class anchor of the run, or for each class mean when the run learnt none;
    its curves and losers are quick."""
    learnt = view.run.folder.anchors(view.split)
    anchors = Anchors.means(view.whole.gallery) if learnt is None else Anchors(*learnt, learnt=True)
    return InvertedGallery(view.whole, anchors).prepare().survey()


@background.job("Comparing all pairs", keep=2)
def all_pairs(view: SplitView) -> Pairs:
    """The similarities of all pairs of a split."""
    return lab.threshold.measure(view.run.folder, view.split)


@background.job("Counting pairs class by class", keep=64)
def rates(view: SplitView, column: int, _pairs: Pairs) -> dict[str, Rate]:
    """Every rate at a threshold, and its interval."""
    return _pairs.rates(column)


def thumbnail(name: str, stamp: float, *items: int, side: int = pictures.SIDE) -> str:
    """An image of a run's data set, or two side by side, as a data URI; empty while a file cannot be read: its disk may
    come back."""
    try:
        return _thumbnail(name, stamp, items, side)
    except ValueError:
        return ""


@lru_cache(maxsize=20_000)
def _thumbnail(name: str, stamp: float, items: tuple[int, ...], side: int) -> str:
    loaded = [images(name, stamp).load(item) for item in items]
    return pictures.thumbnail(loaded[0], side) if len(loaded) == 1 else pictures.side_by_side(*loaded)


@background.job("Embedding the picture", keep=32)
def embedded(view: SplitView, digest: str, _data: bytes, box: Box | None) -> np.ndarray:
    """Embedding [d] of an uploaded picture, or of a part of it, made as those of the split were.

    digest: tells its bytes apart.
    """
    return view.model().embed(cropped(pictures.picture(_data), box))[0]


@background.job("Embedding the part of the picture", keep=32)
def embedded_part(view: SplitView, item: int, box: Box) -> np.ndarray:
    """Embedding [d] of a part of one of the run's images."""
    return view.model().embed(cropped(view.images.load(item), box))[0]


@background.job("Reading the words", keep=32)
def embedded_words(view: SplitView, words: str) -> np.ndarray:
    """Embedding [d] of words, by an encoder that has a text side."""
    return view.model().embed_text(words)[0]


@background.job("Looking for the regions that make them alike", keep=16)
def alike(view: SplitView, first: int, second: int) -> AlikeRegions:
    """Which regions of two of the run's images make their similarity."""
    return view.model().why_alike(view.images.load(first), view.images.load(second))


def cropped(image: Image.Image, box: Box | None) -> Image.Image:
    """A part of a picture, at least a pixel; all of it for None."""
    if box is None:
        return image
    left, top, right, bottom = (round(share * side) for share, side in zip(box, 2 * image.size, strict=True))
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


@lru_cache(maxsize=500)
def _evaluated(path: Path, changed: int) -> str:
    """Which checkpoint a run's configuration asks for; read once as long as the file stays."""
    return Run(path).config.evaluation.knobs.checkpoint


def has_text_side(run: Run) -> bool:
    """Whether the encoder that a run was trained with puts words where its pictures are."""
    return not run.config.outside and hasattr(lab.encoders.get(run.config.encoder.name), "embed_text")


@lru_cache(maxsize=2)
def model(name: str, split: str, stamp: float) -> Model:
    """See `SplitView.model`."""
    return lab.load(lab.runs.open(run_path(name)), split)
