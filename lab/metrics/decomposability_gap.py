"""Decomposability gap of average precision, with its two bounds (001, eq. 6, 8, 9)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import JUNK, Evidence, Measurement, Ranking
from lab.metrics._base import Metric, measurement, positive_ranks

CELLS = 2**23
"""Number of similarities in memory at once: 32 MB, and twice that while they are computed."""

ORDERED = 8
"""Up to this number of batches with a positive, every order of the batches is tried."""

ROWS = 2**12
"""Number of queries whose bounds are computed at once."""


@dataclass(frozen=True)
class BatchCounts:
    """Counts of q queries in each of K batches of the gallery; every array is [q K].

    positives, negatives: number of items of each kind, without the query itself.
    precision: average precision within the batch, NaN if it holds no positive.
    high_positives, high_negatives: number of positives with similarity >= alpha, of negatives with similarity > beta.
    """

    positives: np.ndarray
    negatives: np.ndarray
    precision: np.ndarray
    high_positives: np.ndarray
    high_negatives: np.ndarray

    def of(self, rows: np.ndarray) -> BatchCounts:
        """Return the counts of some of the queries, given by index or mask."""
        return BatchCounts(
            self.positives[rows],
            self.negatives[rows],
            self.precision[rows],
            self.high_positives[rows],
            self.high_negatives[rows],
        )


def juxtaposed_precision(
    positives: np.ndarray, before: np.ndarray, negatives_before: np.ndarray
) -> np.ndarray:
    """float64 [q]: sum over batches b and j = 1..positives_b of (j + before_b) / (j + before_b + negatives_before_b).

    All arguments are [q K]. The sum runs over a batch's positives; 001 prints B as its upper end.
    """
    queries, batches = positives.shape
    # query and batch of each positive
    cell = np.repeat(np.arange(positives.size), positives.ravel())
    first = np.cumsum(positives.ravel()) - positives.ravel()
    j = np.arange(len(cell)) - first[cell] + 1
    place = j + before.ravel()[cell]
    rank = place + negatives_before.ravel()[cell]
    return np.bincount(cell // batches, weights=place / rank, minlength=queries)


def bound_8(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 8, the gap if perfectly ranked batches follow each other in the given order."""
    precision = juxtaposed_precision(
        counts.positives, _sum_before(counts.positives), _sum_before(counts.negatives)
    )
    return 1 - _mean_over_positives(precision, counts)


def bound_9(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 9, where calibrated positives follow only negatives above beta.

    The printed equation is garbled; this follows its derivation, in which negatives occur only in the denominator. The
    bound is tighter than eq. 8 if most items are calibrated, and equal to it if none are.
    """
    high = counts.high_positives
    calibrated = juxtaposed_precision(high, _sum_before(high), _sum_before(counts.high_negatives))
    others = juxtaposed_precision(
        counts.positives - high, _sum_before(counts.positives) + high, _sum_before(counts.negatives)
    )
    return 1 - _mean_over_positives(calibrated + others, counts)


def largest_bound_8(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the largest value of eq. 8 over all orders of the batches; see `largest_bound_9`."""
    return largest_bound_9(replace(counts, high_positives=np.zeros_like(counts.positives)))


def largest_bound_9(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the largest value of eq. 9 over all orders of the batches.

    The paper numbers the batches arbitrarily, but the bound depends on their order: the batch whose positives come
    first in the ranking of the whole set must be numbered first. So only the largest value over all orders bounds the
    gap of perfectly ranked batches. In the whole ranking a negative precedes a positive only after all positives of the
    negative's own batch, and an order of the batches allows for this.

    With more than `ORDERED` batches with a positive there are too many orders. Each positive then follows the largest
    number of negatives that batches with too few positives to reach it can hold. This bounds the gap, too; for eq. 8
    and batches of one size it is the same number.
    """
    bounds = np.empty(len(counts.positives))
    few = (counts.positives > 0).sum(1) <= ORDERED
    for queries, least_precision in ((few, _least_of_all_orders), (~few, _least_of_each_positive)):
        rows = np.flatnonzero(queries)
        for start in range(0, len(rows), ROWS):
            block = rows[start : start + ROWS]
            block_counts = counts.of(block)
            bounds[block] = 1 - _mean_over_positives(least_precision(block_counts), block_counts)
    return bounds


def _least_of_all_orders(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the least sum of precisions of eq. 9 over all orders, by the sets of batches that can come first.

    The precisions of a batch depend on the set of batches before it, not on their order, so 2^K sets replace K! orders.
    Batches without a positive come first, where they lower the precisions most.
    """
    # Keep only the batches with a positive, moved to the first columns; zeros fill up rows that have fewer.
    no_positive = counts.positives == 0
    most_batches = (~no_positive).sum(1).max(initial=0)
    columns = np.argsort(no_positive, axis=1, kind="stable")[:, :most_batches]
    kept = np.take_along_axis(~no_positive, columns, 1)
    positives = np.take_along_axis(counts.positives, columns, 1) * kept
    negatives = np.take_along_axis(counts.negatives, columns, 1) * kept
    high_positives = np.take_along_axis(counts.high_positives, columns, 1) * kept
    high_negatives = np.take_along_axis(counts.high_negatives, columns, 1) * kept

    # Sum the counts over every set of batches, [q 2^K]; bit b of a set's number says whether it holds batch b.
    batches = positives.shape[1]
    member = (np.arange(2**batches)[:, None] >> np.arange(batches)) & 1
    positives_of = positives @ member.T
    negatives_of = negatives @ member.T + (counts.negatives * no_positive).sum(1)[:, None]
    high_positives_of = high_positives @ member.T
    high_negatives_of = (
        high_negatives @ member.T + (counts.high_negatives * no_positive).sum(1)[:, None]
    )

    longest = positives_of.max() + negatives_of.max() + 2
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, longest))])

    def precision_sum(
        count: np.ndarray, ahead: np.ndarray, negatives_ahead: np.ndarray
    ) -> np.ndarray:
        """Sum over j = 1..count of (j + ahead) / (j + ahead + negatives_ahead), by differences of harmonic numbers."""
        start = ahead + negatives_ahead
        return count - negatives_ahead * (harmonic[start + count] - harmonic[start])

    # Dynamic programming over sets of growing size: `batch` is the last batch of the set `after`.
    least = np.full(positives_of.shape, np.inf)
    least[:, 0] = 0
    for size, batch in itertools.product(range(1, batches + 1), range(batches)):
        after = np.flatnonzero((member.sum(1) == size) & (member[:, batch] == 1))
        earlier = after - 2**batch
        calibrated = high_positives[:, [batch]]
        others = positives[:, [batch]] - calibrated
        gain = precision_sum(
            calibrated, high_positives_of[:, earlier], high_negatives_of[:, earlier]
        )
        gain = gain + precision_sum(
            others, positives_of[:, earlier] + calibrated, negatives_of[:, earlier]
        )
        least[:, after] = np.minimum(least[:, after], least[:, earlier] + gain)
    return least[:, -1]


def _least_of_each_positive(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the sum of precisions if every positive follows the set of batches that is worst for it alone."""
    high = counts.high_positives
    calibrated = _worst_sum(high, counts.high_negatives, np.zeros(len(high), np.int64))
    others = _worst_sum(counts.positives - high, counts.negatives, high.sum(1))
    return calibrated + others


def _worst_sum(positives: np.ndarray, negatives: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """float64 [q]: sum over the i-th of all positives, [q K], of (ahead + i) / (ahead + i + n), `ahead` being [q].

    n is the largest number of negatives, [q K], in batches that together have fewer than i positives. It is found as in
    the knapsack problem: positives are the weights, negatives the worth.
    """
    total = positives.sum(1)
    places = np.arange(total.max(initial=0))
    no_positive = positives == 0
    most = np.repeat((negatives * no_positive).sum(1)[:, None], len(places), 1)

    # Pack one batch after another, those with a positive first; the others are in `most` already.
    columns = np.argsort(no_positive, axis=1, kind="stable")[
        :, : (~no_positive).sum(1).max(initial=0)
    ]
    for batch in columns.T[:, :, None]:
        weight = np.take_along_axis(positives, batch, 1)
        worth = np.take_along_axis(negatives, batch, 1) * (weight > 0)
        remaining = places - weight
        packed = np.take_along_axis(most, np.maximum(remaining, 0), 1) + worth
        most = np.where(remaining >= 0, np.maximum(most, packed), most)

    rank = ahead[:, None] + places + 1
    return np.where(places < total[:, None], rank / (rank + most), 0).sum(1)


def _sum_before(counts: np.ndarray) -> np.ndarray:
    """Sum the counts of all earlier batches, [q K]."""
    return np.cumsum(counts, axis=1) - counts


def _mean_over_positives(sums: np.ndarray, counts: BatchCounts) -> np.ndarray:
    """Divide the sums of each query, [q], by the number of its positives."""
    return _divide(sums, counts.positives.sum(1))


def _divide(sums: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Divide sums by counts; NaN where the count is zero."""
    return np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)


def batches(
    items: int, batch_size: int, seed: int, ties: Literal["gallery", "shuffled"] = "gallery"
) -> np.ndarray:
    """Split the items at random into batches, int64 [K batch_size]; -1 fills up the last batch.

    Within a batch, items are in the order that a search gives to equal scores, as in the whole ranking.
    """
    from lab.kernels.sort_keys import tie_codes

    shuffled = np.random.default_rng(seed).permutation(items)
    count = -(-items // batch_size)
    filled = np.pad(shuffled, (0, count * batch_size - items), constant_values=-1)
    filled = filled.reshape(count, batch_size)
    order = np.where(filled < 0, 1, -tie_codes(filled, ties))  # the filling goes last
    return np.take_along_axis(filled, order.argsort(axis=1), 1)


def batch_counts(evidence: Evidence, members: np.ndarray, alpha: float, beta: float) -> BatchCounts:
    """Count the positives and negatives of every query in every batch.

    Args:
        evidence: its ranking says which item is the query itself, which are its positives, and which are junk. Its
            vectors are compared again, as the search compared them.
        members: int64 [K B], gallery positions of each batch, -1 where it is short.
        alpha, beta: similarities that positives should reach and negatives should not exceed (001, eq. 7).

    Time O(q g d), memory O(q K) plus a block of similarities.
    """
    import torch

    from lab.kernels.sort_keys import Space

    query = evidence.query.vectors
    space = Space.of(evidence.gallery.vectors, evidence.similarity, torch.device("cpu"))
    queries = space.queries(query).double()
    present = members.ravel() >= 0
    items = space.items[torch.from_numpy(members.ravel()[present])].double()
    alpha_score = space.as_score(alpha)
    beta_score = space.as_score(beta)

    step = max(1, CELLS // members.size)
    blocks = []
    for start in range(0, len(queries), step):
        rows = np.arange(start, min(start + step, len(queries)))
        scores = np.full((len(rows), members.size), -np.inf, np.float32)
        scores[:, present] = space.block_scores(queries[start : start + step], items).numpy()
        blocks.append(
            _block_counts(rows, scores, evidence.ranking, members, alpha_score, beta_score)
        )

    columns = {
        name: np.concatenate([getattr(block, name) for block in blocks]) for name in vars(blocks[0])
    }
    return BatchCounts(**columns)


def _block_counts(
    rows: np.ndarray,
    similarity: np.ndarray,
    ranking: Ranking,
    members: np.ndarray,
    alpha: np.float32,
    beta: np.float32,
) -> BatchCounts:
    """Count for the queries `rows`, [a], from their similarities to the items of all batches, [a K B]."""
    # Position of each gallery item among the members; the last entry, -1, serves a query that is not in the gallery.
    present = members.ravel() >= 0
    slot = np.full(len(ranking.gallery_labels) + 1, -1)
    slot[members.ravel()[present]] = np.flatnonzero(present)
    self_slot = slot[ranking.self_index[rows]]

    # The positives of consecutive queries are one stretch of the ranking's flat arrays.
    stretch = slice(ranking.offsets[rows[0]], ranking.offsets[rows[-1] + 1])
    row = np.repeat(np.arange(len(rows)), ranking.num_positives[rows])
    item = ranking.positive_items[stretch]
    junk = np.zeros(len(item), bool)
    if ranking.positive_grades is not None:
        junk = ranking.positive_grades[stretch] == JUNK

    # The query itself and junk are not ranked.
    in_gallery = np.flatnonzero(self_slot >= 0)
    similarity[in_gallery, self_slot[in_gallery]] = -np.inf
    similarity[row[junk], slot[item[junk]]] = -np.inf
    row = row[~junk]
    position = slot[item[~junk]]
    batch = position // members.shape[1]
    column = position % members.shape[1]

    shape = (len(rows), *members.shape)
    cell = row * len(members) + batch

    def sum_per_cell(weights: np.ndarray | None = None) -> np.ndarray:
        """Sum values of the positives for each query and batch, [a K]; without values, count the positives."""
        return np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape[:2])

    listed = np.isfinite(similarity).reshape(shape).sum(2)
    above_beta = (similarity > beta).reshape(shape).sum(2)
    positives = sum_per_cell().astype(np.int64)
    positive_similarity = similarity[row, position]
    precision = sum_per_cell(_precision_at(similarity.reshape(shape), row, batch, column, cell))
    return BatchCounts(
        positives=positives,
        negatives=listed - positives,
        precision=_divide(precision, positives),
        high_positives=sum_per_cell(positive_similarity >= alpha).astype(np.int64),
        high_negatives=above_beta - sum_per_cell(positive_similarity > beta).astype(np.int64),
    )


def _precision_at(
    similarity: np.ndarray, row: np.ndarray, batch: np.ndarray, column: np.ndarray, cell: np.ndarray
) -> np.ndarray:
    """float64 [p]: precision at each positive within its batch; equal similarities are ranked by their column.

    similarity: [a K B]; row, batch, column: int64 [p], where each positive is; cell: its query and batch as one number.
    """
    # Rank the positives of each cell among themselves.
    order = np.lexsort((column, -similarity[row, batch, column], cell))
    place = np.arange(len(order)) - np.searchsorted(cell[order], cell[order], "left") + 1

    precision = np.empty(len(order))
    for start in range(0, len(order), 4096):
        part = order[start : start + 4096]
        others = similarity[row[part], batch[part]]
        positive = others[np.arange(len(part)), column[part]][:, None]
        earlier = np.arange(similarity.shape[2]) < column[part][:, None]
        rank = 1 + ((others > positive) | ((others == positive) & earlier)).sum(1)
        precision[part] = place[start : start + 4096] / rank
    return precision


class DecomposabilityGap(Metric):
    """Average precision within batches minus average precision in the whole set; mean over queries.

    Columns:
        `DG`: mean over batches of the AP within the batch, minus the AP of the whole gallery (eq. 6). Batches without
            a positive of the query have no AP and are left out of the mean.
        `DG bound (eq. 8)`, `DG bound (eq. 9)`: upper bounds of the gap if every batch is ranked perfectly, in the order
            of the batches for which they are largest, see `largest_bound_9`.
        `DG premise`: share of queries whose batches are all ranked perfectly, so that the bounds apply.

    The gallery is split at random, so the number depends on `batch_size` and `seed`. Batches are ranked as an exact
    search ranks them, ties included, so measure full rankings without re-ranking. By Euclidean distance, whose
    similarities are negative, no positive reaches the default `alpha`, and eq. 9 equals eq. 8.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("decomposability_gap", batch_size=3)(evidence)
        >>> measured.values["DG"] > 0  # batches of three flatter the ranking of six
        True
    """

    higher_is_better = False
    bounds = (-1.0, 1.0)
    needs = "embeddings"
    reads_gallery = True

    batch_size: int = knob(
        "Items in a batch.", default=128, ge=2, le=MOST_ITEMS, scale="log", source="ROADMAP, eq. 6"
    )
    alpha: float = knob(
        "Similarity that positives should reach.", default=0.9, ge=-1, le=1, source="ROADMAP, eq. 7"
    )
    beta: float = knob(
        "Similarity that negatives should not exceed.",
        default=0.6,
        ge=-1,
        le=1,
        source="ROADMAP, eq. 7",
    )
    seed: int = knob("Seed of the split into batches.", default=0, ge=0)

    def __post_init__(self) -> None:
        if self.knobs.beta > self.knobs.alpha:
            raise ValueError(
                f"DecomposabilityGap: beta must be at most alpha, {self.knobs.alpha}, got {self.knobs.beta}."
            )

    def __call__(self, evidence: Evidence) -> Measurement:
        knobs = self.knobs
        members = batches(
            len(evidence.gallery), knobs.batch_size, knobs.seed, evidence.ranking.ties
        )
        counts = batch_counts(evidence, members, knobs.alpha, knobs.beta)
        precision = positive_ranks(evidence.ranking).average_precision
        has_positive = counts.positives > 0
        in_batches = _divide(np.nansum(counts.precision, axis=1), has_positive.sum(1))
        perfect = np.where(has_positive, counts.precision >= 1, True).all(1)
        return measurement(
            {
                "DG": in_batches - precision,
                "DG bound (eq. 8)": largest_bound_8(counts),
                "DG bound (eq. 9)": largest_bound_9(counts),
                "DG premise": np.where(has_positive.any(1), perfect, np.nan),
            }
        )
