"""The decomposability gap: how much AP inside small batches exceeds AP over the whole set, and the bounds of 001."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lab.core import style
from lab.core.results import as_array
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import batch, cosines
from lab.inspect.against_metrics.exact import Positives
from lab.metrics import PositiveRanks
from lab.metrics.decomposability_gap import (
    BatchCounts,
    bound_8,
    bound_9,
    largest_bound_8,
    largest_bound_9,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Return the AP of one ranked list, with ties counted as errors (001, eq. 1 and 3); NaN without a relevant item.

    Args:
        scores: floats [g].
        relevant: bool [g].

    Raises:
        ValueError: the shapes of scores and relevances differ, or a score is NaN.

    Example:
        >>> import lab
        >>> round(lab.inspect.average_precision([0.9, 0.8, 0.7], [True, False, True]), 3)
        0.833
    """
    scores = as_array(scores, "scores").astype(float)
    relevant = as_array(relevant, "relevances").astype(bool)
    has_nan = np.isnan(scores).any()
    if scores.ndim != 1 or scores.shape != relevant.shape or has_nan:
        shapes = f"{list(scores.shape)} and {list(relevant.shape)}"
        if has_nan:
            shapes += ", some of them NaN"
        raise ValueError(
            f"average_precision: scores must be numbers [g] with one relevance each, got {shapes}."
        )

    # for each relevant item, the items ranked ahead or equal
    ahead = scores[None, :] >= scores[relevant][:, None]
    query = np.zeros(len(ahead), dtype=np.int64)  # there is a single query
    total = np.array([len(ahead)])
    ranks = PositiveRanks(query, ahead.sum(axis=1), (ahead & relevant).sum(axis=1), total)
    return float(ranks.average_precision[0])


def gap_bound(positives: ArrayLike, negatives: ArrayLike) -> float:
    """Return the bound on the gap in 001, eq. 8, for batches in the given order.

    The bound assumes that every batch is ranked perfectly. In the worst case the batches follow one another in the
    whole list, so positive j of batch b has precision (j + P_<b) / (j + P_<b + N_<b). The gap of perfect batches is
    bounded by the order for which this value is largest; see `lab.metrics.decomposability_gap.largest_bound_8`. Eq. 8
    as printed lets j run to B; it can only run over the batch's positives.

    Args:
        positives, negatives: ints [K], items of each kind in each batch.

    Returns:
        NaN without positives.

    Raises:
        ValueError: the counts are not whole numbers from 0, or their lengths differ.

    Example:
        >>> import lab
        >>> round(lab.inspect.gap_bound([1, 1], [2, 2]), 3)  # one positive before two negatives, twice
        0.25
    """
    positive_counts, negative_counts = _check_counts(positives, negatives)
    bounds = bound_8(_batch_counts(positive_counts, negative_counts))
    return float(bounds[0])


def _check_counts(*columns: ArrayLike) -> list[np.ndarray]:
    """Return the counts [K] as int64 arrays, after checking that they are whole numbers of equal length."""
    counts = [as_array(column, "counts") for column in columns]
    legal = len({column.shape for column in counts}) == 1
    for column in counts:
        if column.ndim != 1 or column.dtype.kind not in "iu" or (column < 0).any():
            legal = False
    if not legal:
        values = ", ".join(str(column.tolist()) for column in counts)
        raise ValueError(
            f"Counts must be whole numbers [K] from 0, one of each kind for each batch, got {values}."
        )
    return [column.astype(np.int64) for column in counts]


def refined_gap_bound(
    good_positives: ArrayLike,
    bad_positives: ArrayLike,
    bad_negatives: ArrayLike,
    negatives: ArrayLike,
) -> float:
    """Return the refined bound on the gap for calibrated scores, 001, eq. 9, for batches in the given order.

    The largest value over all orders is the bound. A positive above alpha can only rank behind negatives above beta;
    any other positive can rank behind every negative of an earlier batch. The numerator of the second sum as printed
    repeats its denominator; here it counts positives only. The paper calls this bound tighter than eq. 8. This holds
    if few scores violate their threshold, but not always: positives below alpha are not counted ahead of the others,
    which can cost more than the negatives below beta gain.

    Args:
        good_positives: G+ [K], positives of each batch with a score of at least alpha.
        bad_positives: E+ [K], its other positives.
        bad_negatives: E- [K], its negatives with a score above beta.
        negatives: all its negatives, [K].

    Raises:
        ValueError: the counts are not whole numbers from 0, or their lengths differ.

    Example:
        >>> import lab
        >>> round(lab.inspect.refined_gap_bound([1, 1], [0, 0], [0, 0], [2, 2]), 3)  # all scores calibrated: no gap
        0.0
    """
    high_positives, low_positives, high_negatives, all_negatives = _check_counts(
        good_positives, bad_positives, bad_negatives, negatives
    )
    all_positives = high_positives + low_positives
    bounds = bound_9(_batch_counts(all_positives, all_negatives, high_positives, high_negatives))
    return float(bounds[0])


def _batch_counts(
    positives: np.ndarray,
    negatives: np.ndarray,
    high_positives: ArrayLike = 0,
    high_negatives: ArrayLike = 0,
) -> BatchCounts:
    """Return the counts of one query's batches, all of precision 1, in the form that the metric takes."""
    shape = (1, len(positives))
    columns = (positives, negatives, 1, high_positives, high_negatives)
    return BatchCounts(*(np.broadcast_to(np.asarray(column), shape) for column in columns))


@dataclass(frozen=True)
class Decomposability(Insight):
    """The gap, measured for several batch sizes and random splits.

    batch_sizes: int64 [r].
    batch_ap: float64 [r splits], mean AP inside the batches, over batches and queries.
    global_ap: mean AP over the whole set.
    bound, refined: float64 [r splits], mean over the queries of eq. 8 and eq. 9, each in its worst order of the
        batches.
    perfect: float64 [r splits], share of the queries all of whose batches have AP 1, which both bounds assume.
    broken: int64 [r splits], number of queries that satisfy the assumption but exceed one of the bounds.
    alpha, beta: thresholds of eq. 9.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> gaps = lab.inspect.decomposability(embeddings, labels, batch_sizes=(2, 4), splits=3)
        >>> round(gaps.global_ap, 3), gaps.gap.round(3)[-1]  # one batch of all four has no gap
        (0.75, array([0., 0., 0.]))
    """

    batch_sizes: np.ndarray
    batch_ap: np.ndarray
    global_ap: float
    bound: np.ndarray
    refined: np.ndarray
    perfect: np.ndarray
    broken: np.ndarray
    alpha: float
    beta: float

    @property
    def gap(self) -> np.ndarray:
        """float64 [r splits]: batch AP minus global AP (001, eq. 6)."""
        return self.batch_ap - self.global_ap

    @property
    def summary(self) -> str:
        gap = self.gap.mean(axis=1)
        sentence = (
            f"Over everything AP is {self.global_ap:.3f}; batches of {self.batch_sizes[0]} show "
            f"{self.batch_ap[0].mean():.3f}, a decomposability gap of {gap[0]:.3f}"
        )
        if len(gap) > 1:
            sentence += f", batches of {self.batch_sizes[-1]} a gap of {gap[-1]:.3f}"
        return f"{sentence}."

    def to_frame(self) -> pd.DataFrame:
        """One row a batch size and split: batch_size, split, batch_ap, global_ap, gap, bound, refined, perfect."""
        size, split = np.meshgrid(
            self.batch_sizes, np.arange(self.batch_ap.shape[1]), indexing="ij"
        )
        names = ("batch_ap", "gap", "bound", "refined", "perfect")
        columns = {name: getattr(self, name).ravel() for name in names}
        return frame(
            batch_size=size.ravel(), split=split.ravel(), global_ap=self.global_ap, **columns
        )

    def figure(self) -> go.Figure:
        """Gap and bounds against batch size."""
        figure = style.canvas(
            "Decomposability gap",
            self.summary,
            x="batch size (items, log scale)",
            y="AP in batches minus AP of all",
        )
        curves = (
            ("measured gap (eq. 6)", self.gap),
            ("bound (eq. 8)", self.bound),
            (f"refined bound (eq. 9, α {self.alpha:g}, β {self.beta:g})", self.refined),
        )
        for index, (name, values) in enumerate(curves):
            figure.add_scatter(
                x=self.batch_sizes,
                y=values.mean(axis=1),
                error_y={"array": values.std(axis=1)},
                name=name,
                mode="lines+markers",
                line=style.line(index),
                marker=style.marker(index),
            )
        return figure.update_xaxes(type="log", tickvals=self.batch_sizes)


def decomposability(
    embeddings: Any,
    labels: Any = None,
    batch_sizes: Sequence[int] = (16, 32, 64, 128),
    splits: int = 5,
    alpha: float = 0.9,
    beta: float = 0.6,
    seed: int = 0,
) -> Decomposability:
    """Measure the gap of 001, eq. 6 on the cosines of a set, for random splits into batches.

    Every item is a query against every batch; the query itself is never in a list. Batches without a positive of the
    query have no AP and are left out of its mean, but their negatives count in the bounds. The last batch is smaller if
    the batch size does not divide the number of items.

    Raises:
        ValueError: embeddings or labels are malformed, no two items share a label, a batch size is below 2 or above
            the number of items, or `splits` is below 1.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.decomposability(embeddings, labels, batch_sizes=(2, 4), splits=3).batch_ap.shape
        (2, 3)
    """
    vectors, classes = batch(embeddings, labels)
    similarities = cosines(vectors)
    label_array = classes.cpu().numpy()
    n = len(label_array)
    sizes = np.atleast_1d(np.asarray(batch_sizes, dtype=np.int64))
    if not len(sizes) or sizes.min() < 2 or sizes.max() > n:
        raise ValueError(
            f"decomposability: batch sizes must lie between 2 and the {n} items, got {sizes.tolist()}."
        )
    if splits < 1:
        raise ValueError(f"decomposability: splits must satisfy 1 <= splits, got {splits!r}.")
    positives = Positives.of(similarities, label_array, self_ranked=False, self_positive=False)
    if not len(positives.queries):
        raise ValueError("decomposability: no two items share a label, so AP is not defined.")
    global_ap = positives.average_precision(n)
    has_positive = ~np.isnan(global_ap)

    # Repeat random splits for each batch size; the arrays hold one value per size and split.
    generator = np.random.default_rng(seed)
    shape = (len(sizes), splits)
    batch_ap = np.zeros(shape)
    bound = np.zeros(shape)
    refined = np.zeros(shape)
    perfect = np.zeros(shape)
    broken = np.zeros(shape, dtype=np.int64)
    for (row, size), column in itertools.product(enumerate(sizes), range(splits)):
        batch_of = np.empty(n, dtype=np.int64)
        batch_of[generator.permutation(n)] = np.arange(n) // size
        split = _measure_split(positives, similarities, label_array, batch_of, alpha, beta)

        batch_ap[row, column] = np.nanmean(split.batch_ap)
        bound[row, column] = split.bound[has_positive].mean()
        refined[row, column] = split.refined[has_positive].mean()
        perfect[row, column] = split.perfect[has_positive].mean()
        exceeds = split.batch_ap - global_ap > np.fmin(split.bound, split.refined) + 1e-9
        broken[row, column] = exceeds[split.perfect & has_positive].sum()
    return Decomposability(
        batch_sizes=sizes,
        batch_ap=batch_ap,
        global_ap=float(np.nanmean(global_ap)),
        bound=bound,
        refined=refined,
        perfect=perfect,
        broken=broken,
        alpha=alpha,
        beta=beta,
    )


class _SplitValues(NamedTuple):
    """Values of each query for one split into batches: mean AP over its batches, both bounds, whether all have AP 1."""

    batch_ap: np.ndarray
    bound: np.ndarray
    refined: np.ndarray
    perfect: np.ndarray


def _measure_split(
    positives: Positives,
    similarities: np.ndarray,
    labels: np.ndarray,
    batch_of: np.ndarray,
    alpha: float,
    beta: float,
) -> _SplitValues:
    """Measure every query [n] against the batches that `batch_of` [n] assigns the items to."""
    n = len(labels)
    batches = int(batch_of.max()) + 1

    # AP of every query in every batch [n batches]: each (query, batch) is treated as a query of its own.
    in_same_batch = batch_of[None, :] == batch_of[positives.items][:, None]
    cell = positives.queries * batches + batch_of[positives.items]
    inside = replace(positives, queries=cell, ahead=positives.ahead & in_same_batch)
    precision = inside.average_precision(n * batches).reshape(n, batches)
    count = np.bincount(cell, minlength=n * batches).reshape(n, batches)

    # Numbers of items of each kind in every batch, for the bounds.
    member = np.eye(batches)[batch_of]
    same = labels[:, None] == labels[None, :]
    high_positive = same & ~np.eye(n, dtype=bool) & (similarities >= alpha)
    high_negative = ~same & (similarities > beta)
    counts = BatchCounts(
        positives=count,
        negatives=(~same @ member).astype(np.int64),
        precision=precision,
        high_positives=(high_positive @ member).astype(np.int64),
        high_negatives=(high_negative @ member).astype(np.int64),
    )

    # a batch without positives is perfect, too
    is_perfect = np.where(count > 0, precision >= 1, True)
    batches_with_positives = np.maximum(1, (count > 0).sum(axis=1))
    mean_precision = np.nansum(precision, axis=1) / batches_with_positives
    return _SplitValues(
        batch_ap=np.where(count.any(axis=1), mean_precision, np.nan),
        bound=largest_bound_8(counts),
        refined=largest_bound_9(counts),
        perfect=np.all(is_perfect, axis=1),
    )
