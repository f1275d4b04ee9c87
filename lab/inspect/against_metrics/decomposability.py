"""How far the AP of small batches flatters the AP of everything, and the two bounds of 001 on that gap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core import style
from lab.core.results import as_array
from lab.inspect._insight import Insight, frame
from lab.inspect._subject import batch, cosines
from lab.inspect.against_metrics.exact import Positives
from lab.metrics import PositiveRanks
from lab.metrics.decomposability_gap import BatchCounts, bound_8, bound_9, largest_bound_8, largest_bound_9

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """AP of one ranked list, ties counted against (001, eq. 1 and 3); NaN without a relevant item.

    Args:
        scores: floats [g].
        relevant: bool [g].

    Raises:
        ValueError: the two do not fit, or a score is NaN.

    Example:
        >>> import lab
        >>> round(lab.inspect.average_precision([0.9, 0.8, 0.7], [True, False, True]), 3)
        0.833
    """
    scores, relevant = as_array(scores, "scores").astype(float), as_array(relevant, "relevances").astype(bool)
    if scores.ndim != 1 or scores.shape != relevant.shape or np.isnan(scores).any():
        raise ValueError(
            f"average_precision: scores must be numbers [g] with one relevance each, got {list(scores.shape)} and "
            f"{list(relevant.shape)}{', some of them NaN' if np.isnan(scores).any() else ''}."
        )
    ahead = scores[None, :] >= scores[relevant][:, None]
    owner, total = np.zeros(len(ahead), dtype=np.int64), np.array([len(ahead)])
    ranks = PositiveRanks(owner, ahead.sum(axis=1), (ahead & relevant).sum(axis=1), total)
    return float(ranks.average_precision[0])


def gap_bound(positives: ArrayLike, negatives: ArrayLike) -> float:
    """The gap when every batch is ranked perfectly and used up before the next: 001, eq. 8, in the given order.

    It bounds the gap of perfect batches in the order for which it is largest; see
    `lab.metrics.decomposability_gap.largest_bound_8`.

    The worst list puts the batches behind one another, so positive j of batch b has precision
    (j + P_<b) / (j + P_<b + N_<b). Eq. 8 as printed lets j run to B; it can only run over the batch's positives.

    Args:
        positives, negatives: ints [K], items of each kind in each batch.

    Returns:
        NaN without positives.

    Raises:
        ValueError: these are no whole numbers from 0, or not as many of each kind.

    Example:
        >>> import lab
        >>> round(lab.inspect.gap_bound([1, 1], [2, 2]), 3)  # one positive before two negatives, twice
        0.25
    """
    return float(bound_8(_counts(*_counted(positives, negatives)))[0])


def _counted(*columns: ArrayLike) -> list[np.ndarray]:
    """Counts [K] of each batch, checked."""
    counts = [as_array(one, "counts") for one in columns]
    if len({one.shape for one in counts}) > 1 or any(
        one.ndim != 1 or one.dtype.kind not in "iu" or (one < 0).any() for one in counts
    ):
        raise ValueError(
            "Counts must be whole numbers [K] from 0, one of each kind for each batch, got "
            f"{', '.join(str(one.tolist()) for one in counts)}."
        )
    return [one.astype(np.int64) for one in counts]


def refined_gap_bound(
    good_positives: ArrayLike, bad_positives: ArrayLike, bad_negatives: ArrayLike, negatives: ArrayLike
) -> float:
    """The same for calibrated scores: 001, eq. 9, batches in the given order; the largest of all orders is the bound.

    Positives above alpha can only stand behind negatives above beta; the others behind any negative of an earlier
    batch. The numerator of the second sum as printed repeats its denominator; here it counts positives only. The
    paper calls it tighter than eq. 8; that is so once few scores violate their threshold, but not always: positives
    below alpha are not counted ahead of the others, which can cost more than the negatives below beta gain.

    Args:
        good_positives: G+ [K], positives of each batch with a score of at least alpha.
        bad_positives: E+ [K], its other positives.
        bad_negatives: E- [K], its negatives with a score above beta.
        negatives: all its negatives, [K].

    Raises:
        ValueError: these are no whole numbers from 0, or not as many of each kind.

    Example:
        >>> import lab
        >>> round(lab.inspect.refined_gap_bound([1, 1], [0, 0], [0, 0], [2, 2]), 3)  # all scores calibrated: no gap
        0.0
    """
    good, bad, loud, every = _counted(good_positives, bad_positives, bad_negatives, negatives)
    return float(bound_9(_counts(good + bad, every, good, loud))[0])


def _counts(
    positives: np.ndarray, negatives: np.ndarray, high_positives: ArrayLike = 0, high_negatives: ArrayLike = 0
) -> BatchCounts:
    """One query's batches as the metric counts them."""
    shape = (1, len(positives))
    columns = (positives, negatives, 1, high_positives, high_negatives)
    return BatchCounts(*(np.broadcast_to(np.asarray(x), shape) for x in columns))


@dataclass(frozen=True)
class Decomposability(Insight):
    """The gap measured over batch sizes and random splits.

    batch_sizes: int64 [r].
    batch_ap: float64 [r splits], mean AP inside the batches, over batches and queries.
    global_ap: mean AP over everything.
    bound, refined: float64 [r splits], mean over the queries of eq. 8 and eq. 9, each in its worst order of the
        batches.
    perfect: float64 [r splits], share of the queries all of whose batches have AP 1, which both bounds assume.
    broken: int64 [r splits], queries that satisfy the assumption and yet exceed one of the bounds.
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
        return (
            f"Over everything AP is {self.global_ap:.3f}; batches of {self.batch_sizes[0]} show "
            f"{self.batch_ap[0].mean():.3f}, a decomposability gap of {gap[0]:.3f}"
            + (f", batches of {self.batch_sizes[-1]} a gap of {gap[-1]:.3f}." if len(gap) > 1 else ".")
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a batch size and split: batch_size, split, batch_ap, global_ap, gap, bound, refined, perfect."""
        size, split = np.meshgrid(self.batch_sizes, np.arange(self.batch_ap.shape[1]), indexing="ij")
        names = ("batch_ap", "gap", "bound", "refined", "perfect")
        columns = {name: getattr(self, name).ravel() for name in names}
        return frame(batch_size=size.ravel(), split=split.ravel(), global_ap=self.global_ap, **columns)

    def figure(self) -> go.Figure:
        """Gap and bounds against batch size."""
        figure = style.canvas(
            "Decomposability gap", self.summary, x="batch size (items, log scale)", y="AP in batches minus AP of all"
        )
        curves = (
            ("measured gap (eq. 6)", self.gap),
            ("bound (eq. 8)", self.bound),
            (f"refined bound (eq. 9, α {self.alpha:g}, β {self.beta:g})", self.refined),
        )
        for index, (name, values) in enumerate(curves):
            figure.add_scatter(
                x=self.batch_sizes, y=values.mean(axis=1), error_y={"array": values.std(axis=1)}, name=name,
                mode="lines+markers", line=style.line(index), marker=style.marker(index),
            )  # fmt: skip
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

    Every item is a query against every batch; a query is never ranked, not even in its own batch. Batches without a
    positive of the query have no AP and are left out of its mean, but their negatives count in the bounds. Items that
    do not fill a last batch form a smaller one.

    Raises:
        ValueError: bad embeddings or labels, no pair of one label, a batch size below 2 or above the set, or no split.

    Example (`loss`, `embeddings` and `labels` are those of `lab.inspect`):
        >>> lab.inspect.decomposability(embeddings, labels, batch_sizes=(2, 4), splits=3).batch_ap.shape
        (2, 3)
    """
    vectors, classes = batch(embeddings, labels)
    similarities, names = cosines(vectors), classes.cpu().numpy()
    n = len(names)
    sizes = np.atleast_1d(np.asarray(batch_sizes, dtype=np.int64))
    if not len(sizes) or sizes.min() < 2 or sizes.max() > n:
        raise ValueError(f"decomposability: batch sizes must lie between 2 and the {n} items, got {sizes.tolist()}.")
    if splits < 1:
        raise ValueError(f"decomposability: splits must satisfy 1 <= splits, got {splits!r}.")
    ranked = Positives.of(similarities, names, self_ranked=False, self_positive=False)
    if not len(ranked.queries):
        raise ValueError("decomposability: no two items share a label, so AP is not defined.")
    whole = ranked.average_precision(n)
    counted = ~np.isnan(whole)
    generator = np.random.default_rng(seed)
    shape = (len(sizes), splits)
    results = {name: np.zeros(shape) for name in ("batch_ap", "bound", "refined", "perfect", "broken")}
    for (row, size), column in itertools.product(enumerate(sizes), range(splits)):
        batch_of = np.empty(n, dtype=np.int64)
        batch_of[generator.permutation(n)] = np.arange(n) // size
        each = _one_split(ranked, similarities, names, batch_of, alpha, beta)
        perfect = each["perfect"] & counted
        results["batch_ap"][row, column] = np.nanmean(each["batch_ap"])
        results["bound"][row, column] = each["bound"][counted].mean()
        results["refined"][row, column] = each["refined"][counted].mean()
        results["perfect"][row, column] = perfect[counted].mean()
        results["broken"][row, column] = (each["batch_ap"] - whole > each["lower"] + 1e-9)[perfect].sum()
    return Decomposability(
        batch_sizes=sizes,
        global_ap=float(np.nanmean(whole)),
        alpha=alpha,
        beta=beta,
        **{**results, "broken": results["broken"].astype(np.int64)},
    )


def _one_split(
    ranked: Positives, similarities: np.ndarray, labels: np.ndarray, batch_of: np.ndarray, alpha: float, beta: float
) -> dict[str, np.ndarray]:
    """Per query [n]: mean AP over the batches, eq. 8, eq. 9, the lower one, and whether every batch is perfect."""
    n, batches = len(labels), int(batch_of.max()) + 1
    together = batch_of[None, :] == batch_of[ranked.items][:, None]
    ahead = ranked.ahead & together
    cell = ranked.queries * batches + batch_of[ranked.items]  # each batch is a list of its own
    count = np.bincount(cell, minlength=n * batches).reshape(n, batches)
    inside = replace(ranked, queries=cell, ahead=ahead).average_precision(n * batches).reshape(n, batches)
    member = np.eye(batches)[batch_of]
    same = labels[:, None] == labels[None, :]
    high = similarities >= alpha
    loud = ~same & (similarities > beta)
    other = same & ~np.eye(n, dtype=bool)
    negatives = ~same @ member
    counts = BatchCounts(
        positives=count,
        negatives=negatives.astype(np.int64),
        precision=inside,
        high_positives=((other & high) @ member).astype(np.int64),
        high_negatives=(loud @ member).astype(np.int64),
    )
    batch_ap = np.where(count.any(axis=1), np.nansum(inside, axis=1) / np.maximum(1, (count > 0).sum(axis=1)), np.nan)
    bound, refined = largest_bound_8(counts), largest_bound_9(counts)
    return {
        "batch_ap": batch_ap,
        "bound": bound,
        "refined": refined,
        "lower": np.fmin(bound, refined),
        "perfect": np.where(count > 0, inside >= 1, True).all(axis=1),
    }
