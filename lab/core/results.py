"""The frozen records that cross layers. Plain numpy, so that reading one never loads torch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

UNRANKED = np.iinfo(np.int64).max
"""Rank of a positive that a truncated search never returned."""

EASY, HARD, JUNK = 0, 1, 2
"""Grades of a relevant item in the Revisited Oxford/Paris protocol; junk counts neither for nor against a ranking."""


_UNLABELLED = itertools.count(1)
"""Numbers of the sets without labels, so that no two share a class."""


def as_array(values: Any, what: str) -> np.ndarray:
    """What somebody gave (numpy, a tensor on any device, lists, a set) as an array whose numbers torch knows, too.

    Raises:
        ValueError: its rows are of several lengths.
    """
    values = getattr(values, "vectors", values)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() and values.element_size() < 4 else values
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"The {what} are of several lengths; each row needs as many numbers as the others.") from None
    kind = np.dtype(np.float64) if array.dtype == np.longdouble else array.dtype.newbyteorder("=")
    return array.astype(kind, copy=False)


def _signed(numbers: Any, what: str) -> Any:
    """Return unsigned whole numbers as int64, for numpy compares uint64 with int64 as rounded floats.

    Raises:
        ValueError: a number is above the largest of int64.
    """
    if getattr(getattr(numbers, "dtype", None), "kind", "") != "u":
        return numbers
    if len(numbers) and int(numbers.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"The {what} go up to {int(numbers.max())}, but must be below 2**63; number them anew.")
    return numbers.astype(np.int64)


@dataclass(frozen=True)
class EmbeddingSet:
    """Embeddings of some images of a data set; `lab.EmbeddingSet`. Tensors and lists become arrays.

    vectors: float32 [n d], unit length unless the encoder was told otherwise.
    labels: int64 [n]; for `lab.evaluate` and `lab.runs.from_embeddings` they may be names. Without labels each image is
        of a class of its own, of this set alone: nothing is a true match of it.
    items: int64 [n], position of each image in its data set; by default 0, 1, ...

    Example:
        >>> import lab
        >>> images = lab.EmbeddingSet([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"])
        >>> images.items, images.take(slice(1, 2)).labels
        (array([0, 1]), array(['dog'], dtype='<U3'))
    """

    vectors: Any
    labels: Any = None
    items: Any = None

    def __post_init__(self) -> None:
        if not hasattr(self.vectors, "__len__"):
            raise ValueError(f"Vectors are a table [n d], one row an image, got {type(self.vectors).__name__}.")
        count = len(self.vectors)
        if self.labels is None:
            object.__setattr__(self, "labels", -1 - np.arange(count) - (next(_UNLABELLED) << 40))
        if self.items is None:
            object.__setattr__(self, "items", np.arange(count))
        for name in ("vectors", "labels", "items"):
            value = getattr(self, name)
            if hasattr(value, "detach") or isinstance(value, list | tuple):
                object.__setattr__(self, name, as_array(value, name))
        for name in ("labels", "items"):
            object.__setattr__(self, name, _signed(getattr(self, name), name))

    @property
    def unlabelled(self) -> bool:
        """Whether nobody said which class any of the images is of."""
        return bool(len(self)) and self.labels.dtype.kind == "i" and int(self.labels[0]) < -(1 << 40)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray | slice) -> EmbeddingSet:
        """Some of them, by their rows."""
        return EmbeddingSet(self.vectors[rows], self.labels[rows], self.items[rows])


def parts_of(vectors: Any, labels: Any = None) -> tuple[Any, Any]:
    """Vectors and labels, of the two or of an `EmbeddingSet`; None for labels that nobody gave.

    Raises:
        ValueError: labels beside a set, which has its own.
    """
    if not isinstance(vectors, EmbeddingSet):
        return vectors, labels
    if labels is not None:
        raise ValueError("The set has labels of its own; give labels only beside plain vectors.")
    return vectors.vectors, None if vectors.unlabelled else vectors.labels


@dataclass(frozen=True)
class Relevance:
    """Which gallery items are relevant to which query, where labels cannot say it (Revisited Oxford/Paris).

    offsets: int64 [q+1]; query i owns offsets[i]:offsets[i+1] of the next two arrays.
    items: int64 [p], gallery positions.
    grades: int8 [p], each `EASY`, `HARD` or `JUNK`.
    """

    offsets: np.ndarray
    items: np.ndarray
    grades: np.ndarray


@dataclass(frozen=True)
class Ranking:
    """What one search returned for q queries over g gallery items. Built once; metrics, tables and pictures read it.

    Holds the first k neighbours and the rank of every positive: all that the metrics need, and never a [q g] matrix.
    Equal scores are ordered as `ties` says. A query is never its own neighbour nor its own positive: self is
    removed by index.

    neighbours: int64 [q k], gallery positions, best first; -1 where the search returned fewer.
    scores: float32 [q k], similarity of each neighbour (higher is nearer); NaN where there is none.
    query_labels, gallery_labels: int64 [q], [g].
    self_index: int64 [q], each query's own gallery position, or -1 when it is not in the gallery.
    offsets: int64 [q+1]; query i owns positives offsets[i]:offsets[i+1] of the next two arrays.
    positive_items: int64 [p], gallery positions of the positives, by rank within each query.
    positive_ranks: int64 [p], their 1-based ranks; `UNRANKED` where a truncated search lost them.
    retrieved: int64 [q], how many items the search ranked for each query (gallery size less self when exhaustive).
    comparisons: int64 [q], similarities computed for each query.
    positive_grades: int8 [p] or None; given only when relevance was judged by grade instead of by label.
    ties: order of equal scores, by gallery position or shuffled by a hash of it.
    """

    neighbours: np.ndarray
    scores: np.ndarray
    query_labels: np.ndarray
    gallery_labels: np.ndarray
    self_index: np.ndarray
    offsets: np.ndarray
    positive_items: np.ndarray
    positive_ranks: np.ndarray
    retrieved: np.ndarray
    comparisons: np.ndarray
    positive_grades: np.ndarray | None = None
    ties: Literal["gallery", "shuffled"] = "gallery"

    def __len__(self) -> int:
        return len(self.query_labels)

    @property
    def first_tied(self) -> np.ndarray:
        """bool [q]: whether an item of another class has the very score of the first neighbour.

        Only the k neighbours that the ranking holds are looked at.
        """
        classes = self.gallery_labels[self.neighbours]
        equal = (self.scores == self.scores[:, :1]) & (self.neighbours >= 0)
        return (equal & (classes != classes[:, :1])).any(1)

    @property
    def num_positives(self) -> np.ndarray:
        """int64 [q]: relevant gallery items of each query, itself not counted."""
        return np.diff(self.offsets)

    @property
    def hits(self) -> np.ndarray:
        """bool [q k]: which neighbours share the query's label."""
        same_class = self.gallery_labels[self.neighbours] == self.query_labels[:, None]
        return same_class & (self.neighbours >= 0)

    def positives(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Gallery positions and ranks of one query's positives, best first."""
        mine = slice(self.offsets[query], self.offsets[query + 1])
        return self.positive_items[mine], self.positive_ranks[mine]


@dataclass(frozen=True)
class Classifier:
    """A linear classifier of embeddings: weight float32 [c d], bias float32 [c], the class label of each row [c]."""

    weight: np.ndarray
    bias: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Evidence:
    """Everything a metric may look at after one evaluation.

    `gallery` is `query` itself when images are searched among each other; `anchors` float32 [c d] exist only for
    models trained with class anchors, row c being class label `anchor_labels[c]`. `similarity`, cosine or euclidean, is
    what the ranking was made by. `levels` are coarser labels, by name and from finer to coarser: int64 [q] of the
    queries and int64 [g] of the gallery; empty for sets without super-classes. `classifier` is of models that were
    trained with one.
    """

    ranking: Ranking
    query: EmbeddingSet
    gallery: EmbeddingSet
    anchors: np.ndarray | None = None
    anchor_labels: np.ndarray | None = None
    similarity: str = "cosine"
    levels: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    classifier: Classifier | None = None


@dataclass(frozen=True)
class Measurement:
    """What one metric found.

    values: name to number, for instance {"r@1": .54, "r@4": .66}.
    per_query: the same names to float64 [q]; NaN for excluded queries; empty for metrics of whole sets.
    excluded: queries without a positive, which no value counts.
    """

    values: dict[str, float]
    per_query: dict[str, np.ndarray] = field(default_factory=dict)
    excluded: int = 0
