"""Maps of a run's embeddings: of a split, of its validations over time, and two maps side by side."""

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
"""Largest number of points on a map; more are sampled."""
LAID_OUT = 10_000
"""Largest number of points that UMAP and t-SNE compute; all others are placed near their neighbours among these."""
COMPARED = 10_000
"""Largest number of points of two maps that are compared; more are sampled."""
MEASURED = 1_000
"""Number of points on which a map's quality is measured, since that compares all pairs."""
NEAREST = 10
"""Number of neighbours for the quality of a map."""
OVER_TIME = "over-time"
"""In place of a split: the validation images at every stored validation."""
BEHIND = tuple(method for method in lab.maps.METHODS if method != "pca")
"""Methods that are computed in the background."""


@dataclass(frozen=True)
class Sheet:
    """The images of a split, and those of them that a map shows.

    whole: all images; neighbours are searched among these, in the full space.
    rows: int64 [n], rows of the shown images, ascending.
    device: device on which neighbours are searched.
    """

    whole: EmbeddingSet
    rows: np.ndarray
    similarity: str = "cosine"
    device: str = "cpu"

    @cached_property
    def on_map(self) -> EmbeddingSet:
        if len(self.rows) == len(self.whole):
            return self.whole
        return self.whole.take(self.rows)

    @cached_property
    def _places(self) -> Places:
        return Places(self.whole.items)

    def row(self, item: int | None) -> int | None:
        """Return the row of an image in `whole`, or None if it is not there."""
        return self._places.of(item)

    def label(self, item: int) -> int:
        """Return the label of an image of `whole`."""
        return int(self.whole.labels[self.row(item)])

    @cached_property
    def _index(self) -> lab.search.Index:
        return lab.search.create("exact", device=self.device, similarity=self.similarity).build(
            self.whole
        )

    def prepare(self) -> bool:
        """Build the index now, and not at the first search."""
        return self._index is not None

    def neighbours(self, item: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other images in the full space: items int64 [k], similarities [k], nearest first."""
        row = self.row(item)
        scores, nearest = self._index.neighbours(
            self.whole.vectors[row], min(k + 1, len(self.whole))
        )
        others = nearest[0] != row
        nearest_others = nearest[0][others][:k]
        return self.whole.items[nearest_others], scores[0][others][:k]

    @cached_property
    def nearest_right(self) -> np.ndarray:
        """int8 [n]: whether the nearest other image of each shown image has its class, in the codes of `compared`."""
        depth = min(2, len(self.whole))
        _, nearest = self._index.neighbours(self.on_map.vectors, depth)
        is_itself = nearest[:, 0] == self.rows
        nearest_other = np.where(is_itself, nearest[:, -1], nearest[:, 0])
        return compared(self.whole.labels[nearest_other], self.on_map.labels)


@dataclass(frozen=True)
class Map:
    """Places of points on the plane, at one or several moments of a training.

    steps: int64 [t]; -1 for the embeddings of the finished run.
    flat: float32 [t n 2].
    quality: measures of each moment, see `lab.maps.quality`; NaN if there are too few points.
    """

    steps: np.ndarray
    flat: np.ndarray
    quality: dict[str, np.ndarray]

    def at(self, step: int) -> tuple[np.ndarray, dict[str, float]]:
        """Return the places [n 2] and the quality at one step.

        Raises:
            ValueError: the map has no such step.
        """
        moments_of_step = np.flatnonzero(self.steps == step)
        if not len(moments_of_step):
            raise ValueError(
                f"This map was laid out without step {step:,}; choose another step, or reload the page."
            )
        moment = int(moments_of_step[0])
        return self.flat[moment], {
            name: float(values[moment]) for name, values in self.quality.items()
        }


def sheet(
    run: Run, split: str, step: int | None = None, known: Sequence[EmbeddingSet] = ()
) -> Sheet:
    """Return all images of a split, queries and gallery; or the validation images after a step.

    Args:
        known: the queries and the gallery, if the caller has read them already.

    Raises:
        ValueError: there are no such embeddings.
    """
    config = run.config_of(split)
    if step is not None:
        whole = known[0] if known else frame(run.frame(step))
    else:
        query, gallery = known or (run.embeddings(split), run.embeddings(split, "gallery"))
        whole = query
        if gallery is not None and gallery is not query:
            whole = _merge(gallery, query)
    device = device_or_cpu(config.training.knobs.device)
    return Sheet(whole, stratified(whole.labels, MOST), config.similarity, device)


def _merge(gallery: EmbeddingSet, query: EmbeddingSet) -> EmbeddingSet:
    """Return the images of both sets, each image once."""
    added = query.take(~np.isin(query.items, gallery.items))
    columns = {}
    for name, values in vars(gallery).items():
        columns[name] = np.concatenate([values, vars(added)[name]])
    return EmbeddingSet(**columns)


def stratified(labels: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Sample at most `most` rows in proportion to the classes, ascending int64; the same for the same seed."""
    count = len(labels)
    if count <= most:
        return np.arange(count)
    random = np.random.default_rng(seed)
    order = random.permutation(count)
    # class by class, in random order within each
    order = order[np.argsort(labels[order], kind="stable")]

    # Equal steps along that order take from each class its share, to within one image.
    positions = ((np.arange(most) + random.random()) * (count / most)).astype(np.int64)
    return np.sort(order[positions])


def draw(
    vectors: Sequence[np.ndarray], steps: Sequence[int], method: lab.maps.Method
) -> Generator[int, None, Map]:
    """Compute the maps of the same points at several moments, each aligned with the one before.

    Yields:
        the number of finished moments.

    Returns:
        the `Map`.
    """
    flat: list[np.ndarray] = []
    qualities: list[dict[str, float]] = []
    for moment in vectors:
        if flat:
            places = turned(laid_out(moment, method, flat[-1]), flat[-1])
        else:
            places = laid_out(moment, method)
        flat.append(places)
        qualities.append(_quality(moment, places))
        yield len(flat)
    quality = {name: np.array([measures[name] for measures in qualities]) for name in qualities[0]}
    return Map(np.asarray(steps, np.int64), np.stack(flat), quality)


def laid_out(
    vectors: np.ndarray, method: lab.maps.Method, start: np.ndarray | None = None
) -> np.ndarray:
    """Return the places of points, float32 [n 2].

    If there are many points, UMAP and t-SNE compute the map of a sample, and the others are placed near their
    neighbours.
    """
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
    """Maps of the same images in two spaces.

    items, labels: int64 [n].
    before, after: float32 [n 2], places on both maps; the second is aligned with the first.
    near: rows int32 [n k] of the nearest other images in each full space, nearest first.
    agreement: agreement of each map, see `lab.maps.quality`.
    total: number of images in both spaces.
    """

    items: np.ndarray
    labels: np.ndarray
    before: np.ndarray
    after: np.ndarray
    near: tuple[np.ndarray, np.ndarray]
    agreement: tuple[float, float]
    total: int


def renumbered(second: EmbeddingSet, joined: Joined) -> EmbeddingSet:
    """Return the second run's embeddings of the images that both runs have, with the first run's item numbers."""
    first_items, second_items = joined.items
    place = Places(second_items).of_all(second.items)
    shared = place >= 0
    return replace(second.take(np.flatnonzero(shared)), items=first_items[place[shared]])


def two_maps(
    first: EmbeddingSet, second: EmbeddingSet, method: lab.maps.Method, k: int = 50
) -> TwoMaps:
    """Map the images that two spaces share by their item numbers, at most `COMPARED` of them.

    The second map starts from the first. For two runs on different data, call `renumbered` first.

    Raises:
        ValueError: the spaces share fewer than three images.
    """
    items, first_rows, second_rows = np.intersect1d(first.items, second.items, return_indices=True)
    if len(items) < 3:
        raise ValueError("The two share fewer than three images, so there is nothing to compare.")
    sample = stratified(first.labels[first_rows], COMPARED)
    first_vectors = first.vectors[first_rows[sample]]
    second_vectors = second.vectors[second_rows[sample]]
    before = lab.maps.project(first_vectors, method)
    after = lab.maps.project(second_vectors, method, start=before)
    after = turned(after, before, stretch=True)

    k = min(k, len(sample) - 1)
    return TwoMaps(
        items=items[sample],
        labels=first.labels[first_rows[sample]],
        before=before,
        after=after,
        near=(lab.maps.nearest(first_vectors, k), lab.maps.nearest(second_vectors, k)),
        agreement=(
            _quality(first_vectors, before)["agreement"],
            _quality(second_vectors, after)["agreement"],
        ),
        total=len(items),
    )


def _quality(vectors: np.ndarray, flat: np.ndarray) -> dict[str, float]:
    rows = stratified(np.zeros(len(vectors)), MEASURED)
    k = min(NEAREST, (len(rows) - 1) // 2)
    if k < 1:
        return dict.fromkeys(("trustworthiness", "agreement", "chance"), float("nan"))
    return lab.maps.quality(vectors[rows], flat[rows], k)


def moments(run: Run, split: str) -> tuple[list[np.ndarray], list[int]]:
    """Return the vectors [n d] of each moment of a map of a split, or of the validations over time, and the steps."""
    if split != OVER_TIME:
        return [sheet(run, split).on_map.vectors], [-1]
    vectors = {}
    for step in run.frames():
        # a running training may have removed this frame
        with suppress(ValueError, FileNotFoundError):
            vectors[step] = sheet(run, "validation", step).on_map.vectors
    return list(vectors.values()), list(vectors)
