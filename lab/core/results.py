"""The frozen records that cross layers. Plain numpy, so that reading one never loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

UNRANKED = np.iinfo(np.int64).max
"""Rank of a positive that a truncated search never returned."""

EASY, HARD, JUNK = 0, 1, 2
"""Grades of a relevant item in the Revisited Oxford/Paris protocol; junk counts neither for nor against a ranking."""


NO_CLASS = -(2**63) + 2**40
"""Label numbers at or below this one say that the class of an image is unknown. Every other whole number is a class.

Each image without a class has another such number, so that no two of them look alike where labels are only compared.
"""


def as_array(values: Any, what: str) -> np.ndarray:
    """What somebody gave (numpy, a tensor on any device, lists, a set) as an array whose numbers torch knows, too.

    Raises:
        ValueError: its rows are of several lengths.
    """
    values = getattr(values, "vectors", values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(
            f"The {what} are a masked array, and some are masked; leave those rows out."
        )
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (
            values.float() if values.is_floating_point() and values.element_size() < 4 else values
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"The {what} are of several lengths; each row needs as many numbers as the others."
        ) from None
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
        raise ValueError(
            f"The {what} go up to {int(numbers.max())}, but must be below 2**63; number them anew."
        )
    return numbers.astype(np.int64)


def no_class(rows: Any) -> np.ndarray:
    """Return the labels, int64 [n], of images without a class, from the numbers 0, 1, ... of these images [n]."""
    return NO_CLASS - np.asarray(rows, np.int64)


def labelled(labels: Any) -> np.ndarray:
    """Tell which of some labels [n], numbers or names, name a class: bool [n].

    Example:
        >>> from lab.core.results import labelled, no_class
        >>> labelled(no_class([0, 1])), labelled([3, -7]), labelled(["cat", ""])
        (array([False, False]), array([ True,  True]), array([ True, False]))
    """
    array = np.asarray(labels)
    if array.dtype.kind in "US":
        return np.char.strip(array) != np.array("", array.dtype)
    return array > NO_CLASS


def names_at(names: Sequence[str], labels: np.ndarray) -> np.ndarray:
    """Return the names, str [n], that labels [n] are the places of; empty where a label is below 0.

    A label that has no name here, as when the data changed after a run, gives its number.
    """
    unnamed = labels >= len(names)
    found = np.asarray([*names, ""], str)[np.where((labels >= 0) & ~unnamed, labels, len(names))]
    if not np.any(unnamed):
        return found
    return np.where(unnamed, np.asarray(labels).astype(str), found)


SAME, OTHER, UNKNOWN = 1, 0, -1
"""What two labels say of two images: of one class, of two classes, or that the class of one is unknown."""


def compared(labels: Any, others: Any) -> np.ndarray:
    """Compare whole-number labels with others, of any shapes that numpy broadcasts: int8, `SAME`, `OTHER` or `UNKNOWN`.

    Example:
        >>> from lab.core.results import compared, no_class
        >>> compared([1, 2, no_class(0)], 1)
        array([ 1,  0, -1], dtype=int8)
    """
    labels, others = np.asarray(labels), np.asarray(others)
    known = (labels > NO_CLASS) & (others > NO_CLASS)
    return np.where(known, labels == others, UNKNOWN).astype(np.int8)


def label_column(values: Any, what: str = "labels") -> np.ndarray:
    """Read labels [n] of any kind as whole numbers or names, in which an image without a class has none.

    None, NaN, NaT, NA and an empty text name no class: they become "" among names and `no_class` among numbers. A
    negative number is a class like any other. Whole numbers may come as floats, as a column with gaps holds them, if
    they are small enough to be exact. Blanks around a name do not count. Masked labels name no class.

    Raises:
        ValueError: they are no list of whole numbers or names, or floats that may stand for several names.
    """
    values = cells_of(values)
    if isinstance(values, list | tuple):
        # numpy would turn a NaN among names into the name "nan"
        array = np.empty(len(values), object)
        array[:] = [_out_of_tensor(one, what) for one in values]
    else:
        check_exact_tensor(values, what)
        array = as_array(values, what)
    if array.ndim != 1:
        raise ValueError(
            f"The {what} must be a list [n] of whole numbers or names, got shape {array.shape}."
        )
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype.kind == "U":
        return np.char.strip(array)
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "f":
        check_exact(array, float(np.finfo(array.dtype).eps), what)
    return _of_objects(array, what)


def _of_objects(array: np.ndarray, what: str) -> np.ndarray:
    """`label_column` of an array [n] of objects or floats."""
    listed = array.tolist()
    there = [one for one in listed if not is_gap(one)]
    for one in there:
        if isinstance(one, float | np.floating):
            check_exact(np.array([one], float), float(np.finfo(type(one)).eps), what)
    if all(_is_whole(one) for one in there):
        whole = [int(one) for one in there]
        if max(whole, default=0) < 2**63:
            numbers = no_class(np.arange(len(listed)))
            numbers[[not is_gap(one) for one in listed]] = whole
            return numbers
        if len(there) == len(listed) and min(whole) >= 0:
            return np.array(whole, np.uint64)
        raise ValueError(
            f"The {what} mix numbers from 2^63 on with negative or missing ones; give names instead."
        )
    if all(isinstance(one, str | bytes) or _is_whole(one) for one in there):
        return np.array(["" if is_gap(one) else _as_name(one).strip() for one in listed], str)
    if array.dtype.kind == "f":
        raise ValueError(
            f"The {what} must be whole numbers or names, got {array.dtype} with fractions."
        )
    kinds = sorted(
        {type(one).__name__ for one in there if not isinstance(one, str) and not _is_whole(one)}
    )
    raise ValueError(f"The {what} must be whole numbers or names, got {' and '.join(kinds)}.")


def cells_of(values: Any) -> Any:
    """Return a column as a list where numpy would lose what its cells say: masks, and the types of pandas and Arrow
    that hold gaps, which become floats. Any other column as it is."""
    if isinstance(values, np.ma.MaskedArray):
        return [
            None if hidden else one
            for one, hidden in zip(values.data, np.ma.getmaskarray(values), strict=True)
        ]
    if hasattr(values, "to_pylist"):  # of Arrow
        return values.to_pylist()
    if hasattr(values, "to_numpy") and not isinstance(getattr(values, "dtype", None), np.dtype):
        return list(values)
    return values


def check_exact(numbers: np.ndarray, eps: float, what: str) -> None:
    """Refuse floating-point numbers [n] that are so large that several whole numbers may have become one.

    Args:
        eps: of their type, the distance from 1 to the next number.

    Raises:
        ValueError: there is such a number.
    """
    large = numbers[np.abs(numbers) >= 2 / eps]
    if len(large):
        raise ValueError(
            f"The {what} are floating-point numbers such as {large[0]}, of which several names may have become one; "
            'read that column as text, in pandas with dtype={"COLUMN": str}, or give whole numbers.'
        )


def check_exact_tensor(values: Any, what: str) -> None:
    """`check_exact` of a tensor, whose numbers may be shorter than any of numpy; of anything else nothing.

    Raises:
        ValueError: it holds such a number.
    """
    if hasattr(values, "detach") and values.is_floating_point():
        import torch

        numbers = values.detach().cpu().double().reshape(-1).numpy()
        check_exact(numbers, torch.finfo(values.dtype).eps, what)


def _out_of_tensor(value: Any, what: str) -> Any:
    """Return the number in a tensor of no dimension; any other value as it is."""
    if not hasattr(value, "detach") or value.ndim:
        return value
    check_exact_tensor(value, what)
    return value.item()


def is_gap(value: Any) -> bool:
    """Tell whether a value names no class: None, NaN, NaT, NA, an empty text."""
    if isinstance(value, str | bytes):
        return not value.strip()
    return str(value) in ("None", "nan", "NaT", "<NA>")


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number that 64 bits hold."""
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
        return False
    return float(value).is_integer() and -(2**63) <= int(value) < 2**64


def _as_name(value: Any) -> str:
    return (
        value.decode("utf-8", errors="backslashreplace") if isinstance(value, bytes) else str(value)
    )


@dataclass(frozen=True)
class EmbeddingSet:
    """Embeddings of some images of a data set; `lab.EmbeddingSet`. Tensors and lists become arrays.

    vectors: float32 [n d], unit length unless the encoder was told otherwise.
    labels: int64 [n]; for `lab.evaluate` and `lab.runs.from_embeddings` they may be names. Without labels no image has
        a class; a label that is None, NaN or an empty text gives its image none, see `label_column`.
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
            raise ValueError(
                f"Vectors are a table [n d], one row an image, got {type(self.vectors).__name__}."
            )
        count = len(self.vectors)
        if self.labels is None:
            object.__setattr__(self, "labels", no_class(np.arange(count)))
        if self.items is None:
            object.__setattr__(self, "items", np.arange(count))
        for name in ("vectors", "items"):
            value = getattr(self, name)
            if hasattr(value, "detach") or isinstance(value, list | tuple):
                object.__setattr__(self, name, as_array(value, name))
        labels = self.labels
        if hasattr(labels, "blocks"):  # those of shards are read piece by piece
            return
        fractions = (
            isinstance(labels, np.ndarray) and labels.dtype.kind == "f" and (labels % 1 > 0).any()
        )
        if not fractions:  # a search refuses these, and says what it needs
            object.__setattr__(self, "labels", label_column(labels))
        for name in ("labels", "items"):
            object.__setattr__(self, name, _signed(getattr(self, name), name))

    @property
    def labelled(self) -> np.ndarray:
        """bool [n]: which of the images have a class."""
        return labelled(self.labels)

    @property
    def unlabelled(self) -> bool:
        """Whether none of the images has a class."""
        return not self.labelled.any()

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
    query_labels, gallery_labels: int64 [q], [g]; an image without a class has a label for which `labelled` is false.
    self_index: int64 [q], each query's own gallery position, or -1 when it is not in the gallery.
    offsets: int64 [q+1]; query i owns positives offsets[i]:offsets[i+1] of the next two arrays.
    positive_items: int64 [p], gallery positions of the positives, by rank within each query.
    positive_ranks: int64 [p], their 1-based ranks; `UNRANKED` where a truncated search lost them. Gallery items without
        a class are left out of them, as junk is, unless they are distractors.
    retrieved: int64 [q], how many items the search ranked for each query (gallery size less self when exhaustive).
    comparisons: int64 [q], similarities computed for each query.
    positive_grades: int8 [p] or None; given only when relevance was judged by grade instead of by label.
    ties: order of equal scores, by gallery position or shuffled by a hash of it.
    left_out: how many gallery items have no class and count nowhere; 0 where they count as wrong answers (distractors)
        and where relevance was judged.
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
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.query_labels)

    @property
    def first_tied(self) -> np.ndarray:
        """bool [q]: whether an item of another class has the very score of the first neighbour.

        Only the k neighbours that the ranking holds are looked at.
        """
        classes = self.gallery_labels[self.neighbours]
        known = (self.neighbours >= 0) & labelled(classes)
        scores = np.where(known, self.scores, -np.inf)
        first = known & (scores == scores.max(1, keepdims=True))
        lowest = np.where(first, classes, np.iinfo(np.int64).max).min(1)
        return first.any(1) & (np.where(first, classes, NO_CLASS).max(1) > lowest)

    @property
    def num_positives(self) -> np.ndarray:
        """int64 [q]: relevant gallery items of each query, itself not counted."""
        return np.diff(self.offsets)

    @property
    def hits(self) -> np.ndarray:
        """bool [q k]: which neighbours are known to be of the query's class."""
        return self.verdicts == SAME

    @property
    def misses(self) -> np.ndarray:
        """bool [q k]: which neighbours are known to be of another class than the query."""
        return self.verdicts == OTHER

    @property
    def verdicts(self) -> np.ndarray:
        """int8 [q k]: whether each neighbour is of the query's class: `SAME`, `OTHER` or `UNKNOWN`."""
        verdicts = compared(self.gallery_labels[self.neighbours], self.query_labels[:, None])
        return np.where(self.neighbours >= 0, verdicts, np.int8(UNKNOWN))

    @property
    def neighbour_ranks(self) -> np.ndarray:
        """int64 [q k]: 1-based rank of each neighbour among the items that count; 0 where it counts nowhere.

        For a query without a class no neighbour can be right or wrong, so all are numbered.
        """
        counts = self.neighbours >= 0
        if self.left_out:
            counts = counts & (
                labelled(self.gallery_labels[self.neighbours])
                | ~labelled(self.query_labels)[:, None]
            )
        return np.where(counts, np.cumsum(counts, axis=1), 0)

    def positives(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Gallery positions and ranks of one query's positives, best first."""
        mine = slice(self.offsets[query], self.offsets[query + 1])
        return self.positive_items[mine], self.positive_ranks[mine]

    def part(self, rows: np.ndarray, places: np.ndarray | None = None) -> Ranking:
        """Return the ranking of some queries, whose lists of neighbours show only the gallery items that count.

        Args:
            rows: int64 [r], ascending, the queries.
            places: int64 [h], ascending, the gallery positions of the new gallery, which holds all items that count;
                by default the gallery stays as it is.
        """
        neighbours, scores = self.neighbours[rows], self.scores[rows]
        shown = neighbours >= 0
        if self.left_out:
            shown &= labelled(self.gallery_labels[neighbours])
        # those that stay keep their order, the others go last
        order = np.argsort(~shown, axis=1, kind="stable")
        neighbours = np.take_along_axis(np.where(shown, neighbours, -1), order, 1)
        scores = np.take_along_axis(np.where(shown, scores, np.nan).astype(np.float32), order, 1)
        of_rows = np.isin(np.repeat(np.arange(len(self)), self.num_positives), rows)
        items, own, labels, left_out = (
            self.positive_items[of_rows],
            self.self_index[rows],
            self.gallery_labels,
            0,
        )
        if places is None:
            left_out = self.left_out
        else:
            place = np.full(len(labels) + 1, -1)  # the last one is that of no neighbour, -1
            place[places] = np.arange(len(places))
            neighbours, items, own, labels = (
                place[neighbours],
                place[items],
                place[own],
                labels[places],
            )
        return replace(
            self,
            neighbours=neighbours,
            scores=scores,
            query_labels=self.query_labels[rows],
            gallery_labels=labels,
            self_index=own,
            offsets=np.concatenate([[0], np.cumsum(self.num_positives[rows])]),
            positive_items=items,
            positive_ranks=self.positive_ranks[of_rows],
            retrieved=self.retrieved[rows],
            comparisons=self.comparisons[rows],
            positive_grades=None if self.positive_grades is None else self.positive_grades[of_rows],
            left_out=left_out,
        )


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

    @property
    def has_unknown(self) -> bool:
        """Whether a query has no class, or a gallery item that counts nowhere."""
        ranking = self.ranking
        if ranking.positive_grades is not None:
            return False  # judgements say what is relevant, and labels say nothing
        return not labelled(ranking.query_labels).all() or ranking.left_out > 0

    @cached_property
    def _labelled_query(self) -> EmbeddingSet:
        """The queries that have a class: one object for all metrics, so that clusters are found once."""
        return self.query.take(np.flatnonzero(labelled(self.ranking.query_labels)))

    def of_labelled(self, with_gallery: bool = True) -> Evidence:
        """Return what is left without the queries that have no class and the gallery items that count nowhere.

        Args:
            with_gallery: whether gallery items are taken out of the gallery, too, so that positions change. Otherwise
                they are only taken out of the lists of neighbours.
        """
        ranking = self.ranking
        rows = np.flatnonzero(labelled(ranking.query_labels))
        query, gallery, places = self._labelled_query, self.gallery, None
        if with_gallery:
            counted = (
                labelled(ranking.gallery_labels)
                if ranking.left_out
                else np.ones(len(gallery), bool)
            )
            places = np.flatnonzero(counted)
            same = self.gallery is self.query and len(places) == len(rows)
            gallery = query if same else gallery.take(places)
        levels = {
            name: (of[rows], theirs if places is None else theirs[places])
            for name, (of, theirs) in self.levels.items()
        }
        return replace(
            self, ranking=ranking.part(rows, places), query=query, gallery=gallery, levels=levels
        )


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
