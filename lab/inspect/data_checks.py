"""Checks of a data set by a ranking of its images: which classes are confused, and how each slice scores.

Every function reads a `lab.core.results.Ranking` of images that were searched among each other. The lists of neighbours
are enough, so no similarity matrix is computed, whatever the number of images and classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.core.results import Ranking, labelled

CONFIDENCE = 0.95
"""Confidence level of the interval of a slice's mean score."""


@dataclass(frozen=True)
class Confusion:
    """Pairs of classes, the most confused first.

    label, other: int64 [p], label of the queries and of the wrong neighbours.
    count: int64 [p], number of wrong neighbours of that label among the first k of all queries of the class.
    share: float64 [p], the same count as a share of all first k neighbours of the class, 0..1.
    """

    label: np.ndarray
    other: np.ndarray
    count: np.ndarray
    share: np.ndarray


@dataclass(frozen=True)
class ConfusionMatrix:
    """A confusion matrix of some classes.

    labels: int64 [c].
    counts: int64 [c c], number of neighbours with the column's label among the first k of all queries of the row's.
    looked: int64 [c], number of all first k neighbours of the row's queries; 0 for a class without queries.
    """

    labels: np.ndarray
    counts: np.ndarray
    looked: np.ndarray


@dataclass(frozen=True)
class SliceScores:
    """Scores of slices of the queries, the worst first.

    names: str [s]. queries: int64 [s], number of queries. mean: float64 [s].
    low, high: float64 [s], 95 % interval of the mean over the queries (Student's t) within 0..1; NaN for one query.
    """

    names: np.ndarray
    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def confusion(ranking: Ranking, k: int) -> Confusion:
    """Count how often images of each other class are among the first k neighbours. Images without a class are left out.

    Example (`ranking` of four images of two classes, the last of which looks like the first class):
        >>> import lab.search, numpy as np
        >>> rows = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.8, 0.2]], np.float32)
        >>> images = lab.EmbeddingSet(rows, [0, 0, 1, 1])
        >>> ranking = lab.search.create("exact", k=3).build(images).rank(images, same_source=True)
        >>> confused = confusion(ranking, k=1)
        >>> confused.label.tolist(), confused.other.tolist(), confused.count.tolist()
        ([1], [0], [1])
    """
    ranking = known(ranking)
    neighbours = ranking.neighbours[:, :k]
    wrong = ranking.misses[:, :k]
    query_label = np.broadcast_to(ranking.query_labels[:, None], neighbours.shape)[wrong]
    wrong_label = ranking.gallery_labels[neighbours[wrong]]

    # Count the pairs of labels. A pair is coded as one number, because numbers sort much faster than rows.
    span = int(wrong_label.max(initial=0)) + 1
    pairs, counts = np.unique(query_label * span + wrong_label, return_counts=True)
    label = pairs // span
    other = pairs % span

    # Divide each count by the number of neighbours of all queries of its class.
    labels, label_index = np.unique(ranking.query_labels, return_inverse=True)
    list_lengths = (neighbours >= 0).sum(1)
    neighbours_per_class = np.bincount(label_index, weights=list_lengths, minlength=len(labels))
    share = counts / neighbours_per_class[np.searchsorted(labels, label)]

    order = np.lexsort((-counts, -share))
    return Confusion(label[order], other[order], counts[order], share[order])


def known(ranking: Ranking) -> Ranking:
    """Return the ranking of the queries that have a class, with lists of only those images that have a class."""
    unknown = int((~labelled(ranking.gallery_labels)).sum())
    rows = np.flatnonzero(labelled(ranking.query_labels))
    if not unknown and len(rows) == len(ranking):
        return ranking
    return replace(ranking, left_out=unknown).part(rows)


def worst_classes(confused: Confusion, most: int, around: Sequence[int] = ()) -> np.ndarray:
    """Return the labels of the most confused pairs in the order of these pairs, at most `most` of them: int64 [c].

    Args:
        around: labels that come first and are all returned; only pairs with one of them are then considered.

    Example:
        >>> import numpy as np
        >>> pairs = Confusion(np.array([4, 0, 4]), np.array([1, 2, 2]), np.array([9, 5, 3]), np.array([0.9, 0.5, 0.3]))
        >>> worst_classes(pairs, 3).tolist(), worst_classes(pairs, 3, around=[2]).tolist()
        ([4, 1, 0], [2, 0, 4])
    """
    pairs = np.stack([confused.label, confused.other], 1)
    if len(around):
        pairs = pairs[np.isin(pairs, around).any(1)]
    in_order = np.concatenate([np.asarray(around, np.int64), pairs.ravel()])
    labels, first_position = np.unique(in_order, return_index=True)
    return labels[np.argsort(first_position)][: max(most, len(set(around)))]


def confusion_matrix(ranking: Ranking, k: int, labels: np.ndarray) -> ConfusionMatrix:
    """Count how often each of the given classes is among the first k neighbours of each. Images without a class are
    left out.

    Args:
        labels: int64 [c], each label once.
    """
    ranking = known(ranking)

    # index_of[label] is the row and column of a label in the matrix, -1 for all other labels.
    largest = max(
        part.max(initial=-1) for part in (ranking.query_labels, ranking.gallery_labels, labels)
    )
    index_of = np.full(int(largest) + 1, -1)
    index_of[labels] = np.arange(len(labels))

    queries = np.flatnonzero(index_of[ranking.query_labels] >= 0)
    neighbours = ranking.neighbours[queries, :k]
    query_index = index_of[ranking.query_labels[queries]]
    rows, columns = np.nonzero(neighbours >= 0)  # shorter lists end with -1
    neighbour_index = index_of[ranking.gallery_labels[neighbours[rows, columns]]]
    looked = np.bincount(query_index[rows], minlength=len(labels))

    in_matrix = neighbour_index >= 0
    cells = query_index[rows[in_matrix]] * len(labels) + neighbour_index[in_matrix]
    counts = np.bincount(cells, minlength=len(labels) ** 2).reshape(len(labels), len(labels))
    return ConfusionMatrix(labels, counts, looked)


def most_confused(ranking: Ranking, k: int, label: int, other: int) -> int | None:
    """Return the row of the query of class `label` that has the most neighbours of class `other` among its first k.

    Of equal queries it is the first; None if the class has no query.
    """
    queries = np.flatnonzero(ranking.query_labels == label)
    if not len(queries):
        return None
    neighbours = ranking.neighbours[queries, :k]
    counts = ((neighbours >= 0) & (ranking.gallery_labels[neighbours] == other)).sum(1)
    return int(queries[counts.argmax()])


def slice_scores(values: np.ndarray, column: np.ndarray) -> SliceScores:
    """Return the mean of a score in 0..1 over the queries with each value of a field.

    Queries without a score (NaN) are left out.

    Args:
        values: float64 [q].
        column: str [q]; queries with an empty value belong to no slice.

    Example:
        >>> import numpy as np
        >>> scores = np.array([0.9, 0.8, 0.1, 0.3, np.nan])
        >>> vendors = np.array(["a", "a", "b", "b", "b"])
        >>> slices = slice_scores(scores, vendors)
        >>> slices.names.tolist(), slices.queries.tolist(), slices.mean.round(2).tolist()
        (['b', 'a'], [2, 2], [0.2, 0.85])
    """
    from scipy import stats

    counted = ~np.isnan(values) & (column != "")
    scores = values[counted]
    names, slice_of = np.unique(column[counted], return_inverse=True)
    queries = np.bincount(slice_of, minlength=len(names))
    mean = np.bincount(slice_of, weights=scores, minlength=len(names)) / queries

    squared_deviation = np.bincount(
        slice_of, weights=(scores - mean[slice_of]) ** 2, minlength=len(names)
    )
    with np.errstate(invalid="ignore", divide="ignore"):  # a slice of one query has no interval
        standard_error = np.sqrt(squared_deviation / (queries - 1) / queries)
        half = stats.t.ppf((1 + CONFIDENCE) / 2, queries - 1) * standard_error
    low = np.clip(mean - half, 0, 1)
    high = np.clip(mean + half, 0, 1)

    order = np.lexsort((names, mean))
    return SliceScores(names[order], queries[order], mean[order], low[order], high[order])
