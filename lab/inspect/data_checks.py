"""What a ranking says of the data behind it: which classes are confused, and how each scores.

Every function reads a `lab.core.results.Ranking` of images that were searched among each other, so that a list of
neighbours is all that is needed: no similarity matrix is made, whatever the number of images and classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.core.results import Ranking, labelled

SURE = 0.95
"""Share of all repetitions in which an interval of a class' score would hold its true mean."""


@dataclass(frozen=True)
class Confusion:
    """Pairs of classes, the most confused first.

    label, other: int64 [p], label of the queries and of the wrong neighbours.
    count: int64 [p], wrong neighbours of that label among the first k of all queries of the class.
    share: float64 [p], the same as a share of all first k neighbours of the class, 0..1.
    """

    label: np.ndarray
    other: np.ndarray
    count: np.ndarray
    share: np.ndarray


@dataclass(frozen=True)
class ConfusionMatrix:
    """Some classes by the same classes.

    labels: int64 [c].
    counts: int64 [c c], neighbours of the column's label among the first k of all queries of the row's.
    looked: int64 [c], all first k neighbours of the row's queries; 0 for a class without queries.
    """

    labels: np.ndarray
    counts: np.ndarray
    looked: np.ndarray


@dataclass(frozen=True)
class SliceScores:
    """A score of each slice, the worst first: names str [s], queries int64 [s], mean, low and high float64 [s].

    low, high: interval of the mean (Student's t, 95 %), within 0..1; NaN for a slice of one query.
    """

    names: np.ndarray
    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def confusion(ranking: Ranking, k: int) -> Confusion:
    """Which classes stand among the first k neighbours of which. Images without a class are left out.

    Example (`ranking` of four images of two classes, the last of which looks like the first class):
        >>> import lab.search, numpy as np
        >>> rows = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.8, 0.2]], np.float32)
        >>> images = lab.EmbeddingSet(rows, [0, 0, 1, 1])
        >>> ranking = lab.search.create("exact", k=3).build(images).rank(images, same_source=True)
        >>> found = confusion(ranking, k=1)
        >>> found.label.tolist(), found.other.tolist(), found.count.tolist()
        ([1], [0], [1])
    """
    ranking = known(ranking)
    near, wrong = ranking.neighbours[:, :k], ranking.misses[:, :k]
    label = np.broadcast_to(ranking.query_labels[:, None], near.shape)[wrong]
    second = ranking.gallery_labels[near[wrong]]
    span = int(second.max(initial=0)) + 1
    pairs, counts = np.unique(label * span + second, return_counts=True)  # numbers sort much quicker than rows
    first, other = pairs // span, pairs % span
    labels, looked = np.unique(ranking.query_labels, return_inverse=True)
    lists = np.bincount(looked, weights=(near >= 0).sum(1), minlength=len(labels))
    share = counts / lists[np.searchsorted(labels, first)]
    order = np.lexsort((-counts, -share))
    return Confusion(first[order], other[order], counts[order], share[order])


def known(ranking: Ranking) -> Ranking:
    """Return the ranking of the queries that have a class, whose lists show only images that have one."""
    unknown = int((~labelled(ranking.gallery_labels)).sum())
    rows = np.flatnonzero(labelled(ranking.query_labels))
    if not unknown and len(rows) == len(ranking):
        return ranking
    return replace(ranking, left_out=unknown).part(rows)


def worst_classes(confused: Confusion, most: int, around: Sequence[int] = ()) -> np.ndarray:
    """The labels of the most confused pairs in the order of these pairs, at most so many: int64 [c].

    around: labels that come first, whatever their number; then only pairs with one of them count.

    Example:
        >>> import numpy as np
        >>> pairs = Confusion(np.array([4, 0, 4]), np.array([1, 2, 2]), np.array([9, 5, 3]), np.array([0.9, 0.5, 0.3]))
        >>> worst_classes(pairs, 3).tolist(), worst_classes(pairs, 3, around=[2]).tolist()
        ([4, 1, 0], [2, 0, 4])
    """
    pairs = np.stack([confused.label, confused.other], 1)
    if len(around):
        pairs = pairs[np.isin(pairs, around).any(1)]
    labels, place = np.unique(np.concatenate([np.asarray(around, np.int64), pairs.ravel()]), return_index=True)
    return labels[np.argsort(place)][: max(most, len(set(around)))]


def confusion_matrix(ranking: Ranking, k: int, labels: np.ndarray) -> ConfusionMatrix:
    """How often each of some classes stands among the first k neighbours of each; labels int64 [c], each once. Images
    without a class are left out."""
    ranking, order = known(ranking), np.argsort(labels)
    greatest = (part.max(initial=-1) for part in (ranking.query_labels, ranking.gallery_labels, labels))
    place = np.full(int(max(greatest)) + 1, -1)
    place[labels[order]] = order
    mine = np.flatnonzero(place[ranking.query_labels] >= 0)
    near, label = ranking.neighbours[mine, :k], place[ranking.query_labels[mine]]
    rows, columns = np.nonzero(near >= 0)  # all of them have a class
    other = place[ranking.gallery_labels[near[rows, columns]]]
    looked = np.bincount(label[rows], minlength=len(labels))
    cells = label[rows[other >= 0]] * len(labels) + other[other >= 0]
    counts = np.bincount(cells, minlength=len(labels) ** 2).reshape(len(labels), len(labels))
    return ConfusionMatrix(labels, counts, looked)


def most_confused(ranking: Ranking, k: int, label: int, other: int) -> int | None:
    """The row of the query of one class that has the most neighbours of another among its first k; the first of equal
    ones, None where the class has no query."""
    mine = np.flatnonzero(ranking.query_labels == label)
    near = ranking.neighbours[mine, :k]
    counts = ((near >= 0) & (ranking.gallery_labels[near] == other)).sum(1)
    return int(mine[counts.argmax()]) if len(mine) else None


def slice_scores(values: np.ndarray, column: np.ndarray) -> SliceScores:
    """The mean of a score in 0..1 over the queries with each value of a field; queries that no metric counts (NaN) are
    left out.

    Args:
        values: float64 [q].
        column: str [q]; an empty value is no slice.

    Example:
        >>> import numpy as np
        >>> scores, vendors = np.array([0.9, 0.8, 0.1, 0.3, np.nan]), np.array(["a", "a", "b", "b", "b"])
        >>> found = slice_scores(scores, vendors)
        >>> found.names.tolist(), found.queries.tolist(), found.mean.round(2).tolist()
        (['b', 'a'], [2, 2], [0.2, 0.85])
    """
    from scipy import stats

    counted = ~np.isnan(values) & (column != "")
    names, row = np.unique(column[counted], return_inverse=True)
    queries = np.bincount(row, minlength=len(names))
    mean = np.bincount(row, weights=values[counted], minlength=len(names)) / queries
    spread = np.bincount(row, weights=(values[counted] - mean[row]) ** 2, minlength=len(names))
    with np.errstate(invalid="ignore", divide="ignore"):
        half = stats.t.ppf((1 + SURE) / 2, queries - 1) * np.sqrt(spread / (queries - 1) / queries)
    order = np.lexsort((names, mean))
    low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
    return SliceScores(*(one[order] for one in (names, queries, mean, low, high)))
