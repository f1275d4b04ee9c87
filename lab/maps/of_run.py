"""Maps of a run's embeddings: of a split, of its validations over time, and two of them side by side."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import lab.maps
import lab.search
from lab.core.results import EmbeddingSet, compared
from lab.evaluation.collection import Places
from lab.evaluation.identity import Joined
from lab.inspect.spaces import turned
from lab.kernels.devices import device_or_cpu
from lab.runs.building.batches import frame
from lab.runs.folder import Run

MOST = 1_000_000
"""Points that a map shows; more are sampled."""
LAID_OUT = 10_000
"""Points that UMAP and t-SNE lay out; the others are placed beside their neighbours among them."""
COMPARED = 10_000
"""Points of two maps that are compared; more are sampled."""
MEASURED = 1_000
"""Points on which a map's quality is measured: it compares all pairs."""
NEAREST = 10
"""Neighbours that its quality is about."""
OVER_TIME = "over-time"
"""The validation images at every stored validation, where a split is expected."""
BEHIND = tuple(method for method in lab.maps.METHODS if method != "pca")
"""Methods that are drawn in the background."""


@dataclass(frozen=True)
class Sheet:
    """What a map is of: every image of a split, and those that are shown.

    whole: all of them; neighbours are searched here, in the full space.
    rows: int64 [n], the shown ones, ascending.
    device: where neighbours are searched.
    """

    whole: EmbeddingSet
    rows: np.ndarray
    similarity: str = "cosine"
    device: str = "cpu"

    @cached_property
    def on_map(self) -> EmbeddingSet:
        return self.whole if len(self.rows) == len(self.whole) else self.whole.take(self.rows)

    @cached_property
    def _places(self) -> Places:
        return Places(self.whole.items)

    def row(self, item: int | None) -> int | None:
        """Row of an image in `whole`, or None when it is not there."""
        return self._places.of(item)

    def label(self, item: int) -> int:
        """The label of an image that is in `whole`."""
        return int(self.whole.labels[self.row(item)])

    @cached_property
    def _index(self) -> lab.search.Index:
        return lab.search.create("exact", device=self.device, similarity=self.similarity).build(self.whole)

    def prepare(self) -> bool:
        """Build the index now, not at the first question."""
        return self._index is not None

    def neighbours(self, item: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest others of an image in the full space: items int64 [k] and similarities [k], nearest first."""
        row = self.row(item)
        scores, nearest = self._index.neighbours(self.whole.vectors[row], min(k + 1, len(self.whole)))
        others = nearest[0] != row
        return self.whole.items[nearest[0][others][:k]], scores[0][others][:k]

    @cached_property
    def nearest_right(self) -> np.ndarray:
        """int8 [n]: whether the nearest other image of each shown one has its class, as `compared` says it."""
        depth = min(2, len(self.whole))
        _, nearest = self._index.neighbours(self.on_map.vectors, depth)
        itself = nearest[:, 0] == self.rows
        first = np.where(itself, nearest[:, -1], nearest[:, 0])
        return compared(self.whole.labels[first], self.on_map.labels)


@dataclass(frozen=True)
class Map:
    """Places on the plane, at one moment or at several.

    steps: int64 [t]; -1 for the embeddings of the finished run.
    flat: float32 [t n 2].
    quality: of each moment, see `lab.maps.quality`; NaN where there are too few points to say.
    """

    steps: np.ndarray
    flat: np.ndarray
    quality: dict[str, np.ndarray]

    def at(self, step: int) -> tuple[np.ndarray, dict[str, float]]:
        """Places [n 2] and quality at one step.

        Raises:
            ValueError: the map was laid out without it.
        """
        found = np.flatnonzero(self.steps == step)
        if not len(found):
            raise ValueError(f"This map was laid out without step {step:,}; choose another step, or reload the page.")
        moment = int(found[0])
        return self.flat[moment], {name: float(values[moment]) for name, values in self.quality.items()}


def sheet(run: Run, split: str, step: int | None = None, known: Sequence[EmbeddingSet] = ()) -> Sheet:
    """All images of a split, queries and gallery; or the validation images after a step.

    Args:
        known: the queries and gallery where they have been read.

    Raises:
        ValueError: there are no such embeddings.
    """
    config = run.config_of(split)
    if step is not None:
        whole = known[0] if known else frame(run.frame(step))
    else:
        query, gallery = known or (run.embeddings(split), run.embeddings(split, "gallery"))
        whole = query if gallery is None or gallery is query else _joined(gallery, query)
    device = device_or_cpu(config.training.knobs.device)
    return Sheet(whole, stratified(whole.labels, MOST), config.similarity, device)


def _joined(gallery: EmbeddingSet, query: EmbeddingSet) -> EmbeddingSet:
    """Both, every image once."""
    more = query.take(~np.isin(query.items, gallery.items))
    return EmbeddingSet(*(np.concatenate([vars(gallery)[name], vars(more)[name]]) for name in vars(gallery)))


def stratified(labels: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """At most `most` rows, ascending int64, every class in its share; the same for the same seed."""
    count = len(labels)
    if count <= most:
        return np.arange(count)
    random = np.random.default_rng(seed)
    order = random.permutation(count)
    order = order[np.argsort(labels[order], kind="stable")]  # class by class, at random within each
    # Equal steps along that order take from each class its share, to within one image.
    places = ((np.arange(most) + random.random()) * (count / most)).astype(np.int64)
    return np.sort(order[places])


def draw(vectors: Sequence[np.ndarray], steps: Sequence[int], method: lab.maps.Method) -> Generator[int, None, Map]:
    """Map some moments of the same points, each turned so that it lies on the one before; yields how many are done.

    Returns:
        the `Map`.
    """
    flat: list[np.ndarray] = []
    qualities: list[dict[str, float]] = []
    for moment in vectors:
        places = laid_out(moment, method, flat[-1] if flat else None)
        flat.append(turned(places, flat[-1]) if flat else places)
        qualities.append(_quality(moment, flat[-1]))
        yield len(flat)
    named = {name: np.array([one[name] for one in qualities]) for name in qualities[0]}
    return Map(np.asarray(steps, np.int64), np.stack(flat), named)


def laid_out(vectors: np.ndarray, method: lab.maps.Method, start: np.ndarray | None = None) -> np.ndarray:
    """Places float32 [n 2]. Of many points UMAP and t-SNE lay out a sample, and the rest is placed beside it."""
    if method == "pca":
        return lab.maps.project(vectors, method)
    rows = stratified(np.zeros(len(vectors)), LAID_OUT)
    begin = None if start is None else start[rows]
    flat = lab.maps.project(vectors[rows], method, start=begin)
    if len(rows) == len(vectors):
        return flat
    places = lab.maps.place(vectors, vectors[rows], flat, min(5, len(rows)))
    places[rows] = flat
    return places


@dataclass(frozen=True)
class TwoMaps:
    """Two spaces of the same images. items, labels: int64 [n]. before, after: float32 [n 2], the second map turned
    onto the first. near: the rows int32 [n k] of the nearest others in each full space, nearest first.
    agreement: of each map, see `lab.maps.quality`. total: images that both spaces have."""

    items: np.ndarray
    labels: np.ndarray
    before: np.ndarray
    after: np.ndarray
    near: tuple[np.ndarray, np.ndarray]
    agreement: tuple[float, float]
    total: int


def renumbered(second: EmbeddingSet, joined: Joined) -> EmbeddingSet:
    """Embeddings of the second of two runs, of the images that both have, under the numbers of the first run."""
    mine, theirs = joined.items
    place = Places(theirs).of_all(second.items)
    taken = second.take(np.flatnonzero(place >= 0))
    return replace(taken, items=mine[place[place >= 0]])


def two_maps(first: EmbeddingSet, second: EmbeddingSet, method: lab.maps.Method, k: int = 50) -> TwoMaps:
    """The images that two spaces share by their numbers, `COMPARED` of them at most. The second map starts from the
    first. Numbers of another run are first made those of this one by `renumbered`.

    Raises:
        ValueError: they share fewer than three images.
    """
    items, ours, theirs = np.intersect1d(first.items, second.items, return_indices=True)
    if len(items) < 3:
        raise ValueError("The two share fewer than three images, so there is nothing to compare.")
    rows = stratified(first.labels[ours], COMPARED)
    one, other = first.vectors[ours[rows]], second.vectors[theirs[rows]]
    k = min(k, len(rows) - 1)
    before = lab.maps.project(one, method)
    after = lab.maps.project(other, method, start=before)
    after = turned(after, before, stretch=True)
    near = lab.maps.nearest(one, k), lab.maps.nearest(other, k)
    agreement = _quality(one, before)["agreement"], _quality(other, after)["agreement"]
    return TwoMaps(items[rows], first.labels[ours[rows]], before, after, near, agreement, len(items))


def _quality(vectors: np.ndarray, flat: np.ndarray) -> dict[str, float]:
    rows = stratified(np.zeros(len(vectors)), MEASURED)
    k = min(NEAREST, (len(rows) - 1) // 2)
    if k < 1:
        return dict.fromkeys(("trustworthiness", "agreement", "chance"), float("nan"))
    return lab.maps.quality(vectors[rows], flat[rows], k)


def moments(run: Run, split: str) -> tuple[list[np.ndarray], list[int]]:
    """The vectors [n d] that a map of a split, or of the validations over time, is drawn from, and their steps."""
    if split != OVER_TIME:
        return [sheet(run, split).on_map.vectors], [-1]
    found = {}
    for step in run.frames():
        with suppress(ValueError, FileNotFoundError):  # a training at work has removed this one meanwhile
            found[step] = sheet(run, "validation", step).on_map.vectors
    return list(found.values()), list(found)
