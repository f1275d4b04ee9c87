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
"""Similarities held at once: 32 MB, and twice that while they are computed."""

ORDERED = 8
"""So many batches with a positive are tried in every order."""

ROWS = 2**12
"""Queries whose bounds are computed at once."""


@dataclass(frozen=True)
class BatchCounts:
    """What q queries see in each of K batches of the gallery; every array is [q K].

    positives, negatives: items of each kind, the query itself left out.
    precision: average precision within the batch, NaN where it holds no positive.
    high_positives, high_negatives: positives with similarity >= alpha, negatives with similarity > beta.
    """

    positives: np.ndarray
    negatives: np.ndarray
    precision: np.ndarray
    high_positives: np.ndarray
    high_negatives: np.ndarray

    def of(self, rows: np.ndarray) -> BatchCounts:
        """The counts of some of the queries, given by index or mask."""
        return BatchCounts(*(array[rows] for array in vars(self).values()))


def juxtaposed_precision(positives: np.ndarray, before: np.ndarray, negatives_before: np.ndarray) -> np.ndarray:
    """float64 [q]: sum over batches b and j = 1..positives_b of (j + before_b) / (j + before_b + negatives_before_b).

    All arguments are [q K]. The sum runs over a batch's positives; 001 prints B as its upper end.
    """
    queries, batches = positives.shape
    cell = np.repeat(np.arange(positives.size), positives.ravel())
    first = np.cumsum(positives.ravel()) - positives.ravel()
    place = np.arange(len(cell)) - first[cell] + 1 + before.ravel()[cell]
    return np.bincount(cell // batches, weights=place / (place + negatives_before.ravel()[cell]), minlength=queries)


def bound_8(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 8, the gap when perfectly ranked batches are put one after the other in the given order."""
    before, negatives = _before(counts.positives), _before(counts.negatives)
    return 1 - _per_positive(juxtaposed_precision(counts.positives, before, negatives), counts)


def bound_9(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 9, where calibrated positives only follow negatives above beta.

    Follows the derivation where the print is garbled: negatives stand in the denominator only. Tighter than eq. 8 when
    most items are calibrated; equal to it when none are.
    """
    high = counts.high_positives
    calibrated = juxtaposed_precision(high, _before(high), _before(counts.high_negatives))
    others = juxtaposed_precision(counts.positives - high, _before(counts.positives) + high, _before(counts.negatives))
    return 1 - _per_positive(calibrated + others, counts)


def largest_bound_8(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 8 in the order of the batches for which it is largest; see `largest_bound_9`."""
    return largest_bound_9(replace(counts, high_positives=np.zeros_like(counts.positives)))


def largest_bound_9(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: eq. 9 in the order of the batches for which it is largest.

    The paper numbers the batches as they come, but whichever is used up first in the ranking of everything comes first.
    So only the largest of all orders bounds the gap of perfectly ranked batches: a negative is ahead of a positive only
    after all positives of its own batch, which is what an order of the batches allows for at most.

    Beyond `ORDERED` batches with a positive there are too many orders. Each positive then takes the most negatives
    that any batches with too few positives to reach it can bring, which bounds the gap, too; for eq. 8 and batches of
    one size it is the same number.
    """
    bounds = np.empty(len(counts.positives))
    few = (counts.positives > 0).sum(1) <= ORDERED
    for chosen, least in ((few, _least_of_all_orders), (~few, _least_of_each_positive)):
        rows = np.flatnonzero(chosen)
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            bounds[some] = 1 - _per_positive(least(counts.of(some)), counts.of(some))
    return bounds


def _least_of_all_orders(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the least sum of precisions of eq. 9 over all orders, by the sets of batches that can come first.

    What a batch adds depends on the set before it alone, so its order does not matter: 2^K sets in the place of K!
    orders. Batches without a positive come first of all, where they do most harm.
    """
    lone = counts.positives == 0
    front = np.argsort(lone, axis=1, kind="stable")[:, : (~lone).sum(1).max(initial=0)]
    arrays = counts.positives, counts.negatives, counts.high_positives, counts.high_negatives
    kept = np.take_along_axis(~lone, front, 1)  # batches with a positive; zeros fill the rows up
    positives, negatives, high, loud = (np.take_along_axis(array, front, 1) * kept for array in arrays)
    batches = positives.shape[1]
    member = (np.arange(2**batches)[:, None] >> np.arange(batches)) & 1
    before = [array @ member.T for array in (positives, negatives, high, loud)]  # sums of each set, [q 2^K]
    before[1] += (counts.negatives * lone).sum(1)[:, None]
    before[3] += (counts.high_negatives * lone).sum(1)[:, None]
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, before[0].max() + before[1].max() + 2))])

    def added(count: np.ndarray, ahead: np.ndarray, behind: np.ndarray) -> np.ndarray:
        """Sum over j = 1..count of (j + ahead) / (j + ahead + behind)."""
        return count - behind * (harmonic[ahead + behind + count] - harmonic[ahead + behind])

    least = np.full(before[0].shape, np.inf)
    least[:, 0] = 0
    for size, batch in itertools.product(range(1, batches + 1), range(batches)):
        after = np.flatnonzero((member.sum(1) == size) & (member[:, batch] == 1))
        earlier = after - 2**batch
        in_batch, calibrated = positives[:, [batch]], high[:, [batch]]
        ahead, behind, high_ahead, loud_behind = (array[:, earlier] for array in before)
        gain = added(calibrated, high_ahead, loud_behind) + added(in_batch - calibrated, ahead + calibrated, behind)
        least[:, after] = np.minimum(least[:, after], least[:, earlier] + gain)
    return least[:, -1]


def _least_of_each_positive(counts: BatchCounts) -> np.ndarray:
    """float64 [q]: the sum of precisions when each positive takes the worst set of batches before it by itself."""
    high = counts.high_positives
    calibrated = _worst_sum(high, counts.high_negatives, np.zeros(len(high), np.int64))
    return calibrated + _worst_sum(counts.positives - high, counts.negatives, high.sum(1))


def _worst_sum(positives: np.ndarray, negatives: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """float64 [q]: sum over the i-th of all positives, [q K], of (ahead + i) / (ahead + i + n), `ahead` being [q].

    n is the largest number of negatives, [q K], in batches that together have fewer than i positives: a knapsack.
    """
    total = positives.sum(1)
    places = np.arange(total.max(initial=0))
    most = np.repeat((negatives * (positives == 0)).sum(1)[:, None], len(places), 1)
    front = np.argsort(positives == 0, axis=1, kind="stable")[:, : (positives > 0).sum(1).max(initial=0)]
    for batch in front.T[:, :, None]:
        weight, worth = (np.take_along_axis(array, batch, 1) for array in (positives, negatives))
        rest = places - weight
        packed = np.take_along_axis(most, np.maximum(rest, 0), 1) + worth * (weight > 0)
        most = np.where(rest >= 0, np.maximum(most, packed), most)
    rank = ahead[:, None] + places + 1
    return np.where(places < total[:, None], rank / (rank + most), 0).sum(1)


def _before(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts, axis=1) - counts


def _per_positive(sums: np.ndarray, counts: BatchCounts) -> np.ndarray:
    return _mean(sums, counts.positives.sum(1))


def _mean(sums: np.ndarray, count: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to take the mean of."""
    return np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)


def batches(items: int, batch_size: int, seed: int, ties: Literal["gallery", "shuffled"] = "gallery") -> np.ndarray:
    """int64 [K batch_size]: a random split of the items into batches; -1 fills up the last one.

    Within a batch, items stand in the order that a search gives to equal scores, so that they are ordered as in the
    whole ranking.
    """
    from lab.kernels.sort_keys import tie_codes

    shuffled = np.random.default_rng(seed).permutation(items)
    count = -(-items // batch_size)
    filled = np.pad(shuffled, (0, count * batch_size - items), constant_values=-1)
    filled = filled.reshape(count, batch_size)
    order = np.where(filled < 0, 1, -tie_codes(filled, ties))  # absent ones go last
    return np.take_along_axis(filled, order.argsort(axis=1), 1)


def batch_counts(evidence: Evidence, members: np.ndarray, alpha: float, beta: float) -> BatchCounts:
    """Look at every batch with every query.

    Args:
        evidence: its ranking says which item is the query itself, which are its positives, and which are junk; its
            vectors are compared anew, as the search compared them.
        members: int64 [K B], gallery positions of each batch, -1 where it is short.
        alpha, beta: similarities that positives should reach and negatives should not exceed (001, eq. 7).

    Time O(q g d), memory O(q K) beside a block of similarities.
    """
    import torch

    from lab.kernels.sort_keys import Space

    query = evidence.query.vectors
    space = Space.of(evidence.gallery.vectors, evidence.similarity, torch.device("cpu"))
    queries = space.queries(query).double()
    present = members.ravel() >= 0
    items = space.items[torch.from_numpy(members.ravel()[present])].double()
    limits = space.as_score(alpha), space.as_score(beta)
    step = max(1, CELLS // members.size)
    parts = []
    for start in range(0, len(queries), step):
        rows = np.arange(start, min(start + step, len(queries)))
        scores = np.full((len(rows), members.size), -np.inf, np.float32)
        scores[:, present] = space.block_scores(queries[start : start + step], items).numpy()
        parts.append(_block_counts(rows, scores, evidence.ranking, members, *limits))
    return BatchCounts(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def _block_counts(
    rows: np.ndarray, similarity: np.ndarray, ranking: Ranking, members: np.ndarray, alpha: np.float32, beta: np.float32
) -> BatchCounts:
    """Of some queries [a], from their similarities to the items of all batches, [a K B], and two thresholds."""
    present = members.ravel() >= 0
    slot = np.full(len(ranking.gallery_labels) + 1, -1)
    slot[members.ravel()[present]] = np.flatnonzero(present)

    self_place = slot[ranking.self_index[rows]]  # slot -1 of an absent self is the spare last entry
    stretch = slice(ranking.offsets[rows[0]], ranking.offsets[rows[-1] + 1])  # rows lie side by side
    row, item = np.repeat(np.arange(len(rows)), ranking.num_positives[rows]), ranking.positive_items[stretch]
    grades = ranking.positive_grades
    left_out = np.zeros(len(item), bool) if grades is None else grades[stretch] == JUNK
    similarity[np.flatnonzero(self_place >= 0), self_place[self_place >= 0]] = -np.inf
    similarity[row[left_out], slot[item[left_out]]] = -np.inf
    row, place = row[~left_out], slot[item[~left_out]]

    shape = (len(rows), *members.shape)
    listed = np.isfinite(similarity).reshape(shape).sum(2)
    batch = place // members.shape[1]
    mine = similarity[row, place]
    cell = row * len(members) + batch

    def per_cell(weights: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape[:2])

    positives = per_cell().astype(np.int64)
    above_beta = (similarity > beta).reshape(shape).sum(2)
    precision = per_cell(_precision_at(similarity.reshape(shape), row, batch, place % members.shape[1], cell))
    return BatchCounts(
        positives=positives,
        negatives=listed - positives,
        precision=_mean(precision, positives),
        high_positives=per_cell(mine >= alpha).astype(np.int64),
        high_negatives=above_beta - per_cell(mine > beta).astype(np.int64),
    )


def _precision_at(
    similarity: np.ndarray, row: np.ndarray, batch: np.ndarray, place: np.ndarray, cell: np.ndarray
) -> np.ndarray:
    """float64 [p]: precision at each positive within its batch; equal similarities are ordered by place."""
    order = np.lexsort((place, -similarity[row, batch, place], cell))
    place_of = np.arange(len(order)) - np.searchsorted(cell[order], cell[order], "left") + 1
    precision = np.empty(len(order))
    for start in range(0, len(order), 4096):
        part = order[start : start + 4096]
        others = similarity[row[part], batch[part]]
        mine = others[np.arange(len(part)), place[part]][:, None]
        earlier = np.arange(similarity.shape[2]) < place[part][:, None]
        rank = 1 + ((others > mine) | ((others == mine) & earlier)).sum(1)
        precision[part] = place_of[start : start + 4096] / rank
    return precision


class DecomposabilityGap(Metric):
    """How much better average precision looks in batches than in the whole set; mean over queries.

    Columns:
        `DG`: mean over batches of the AP within the batch, less the AP of the whole gallery (eq. 6). Batches without
            a positive of the query have no AP and are left out of the mean.
        `DG bound (eq. 8)`, `DG bound (eq. 9)`: the gap would be at most this if every batch were ranked perfectly,
            whichever batches come first: the largest of all orders, see `largest_bound_9`.
        `DG premise`: share of queries whose batches are all ranked perfectly, so that the bounds apply.

    The gallery is split at random, so that the number depends on `batch_size` and `seed`. Batches are ranked as an
    exact search ranks them, ties included, so measure rankings that are neither re-ranked nor cut short. By Euclidean
    distance, whose similarities are negative, no positive reaches the default `alpha`, and eq. 9 equals eq. 8.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("decomposability_gap", batch_size=3)(evidence)
        >>> measured.values["DG"] > 0  # batches of three flatter the ranking of six
        True
    """

    higher_is_better = False
    bounds = (-1.0, 1.0)
    needs = "embeddings"
    reads_gallery = True

    batch_size: int = knob("Items in a batch.", default=128, ge=2, le=MOST_ITEMS, scale="log", source="ROADMAP, eq. 6")
    alpha: float = knob("Similarity that positives should reach.", default=0.9, ge=-1, le=1, source="ROADMAP, eq. 7")
    beta: float = knob(
        "Similarity that negatives should not exceed.", default=0.6, ge=-1, le=1, source="ROADMAP, eq. 7"
    )
    seed: int = knob("Seed of the split into batches.", default=0, ge=0)

    def __post_init__(self) -> None:
        if self.knobs.beta > self.knobs.alpha:
            raise ValueError(f"beta must be at most alpha, {self.knobs.alpha}, got {self.knobs.beta}.")

    def __call__(self, evidence: Evidence) -> Measurement:
        knobs = self.knobs
        members = batches(len(evidence.gallery), knobs.batch_size, knobs.seed, evidence.ranking.ties)
        counts = batch_counts(evidence, members, knobs.alpha, knobs.beta)
        precision = positive_ranks(evidence.ranking).average_precision
        has_positive = counts.positives > 0
        in_batches = _mean(np.nansum(counts.precision, axis=1), has_positive.sum(1))
        perfect = np.where(has_positive, counts.precision >= 1, True).all(1)
        return measurement(
            {
                "DG": in_batches - precision,
                "DG bound (eq. 8)": largest_bound_8(counts),
                "DG bound (eq. 9)": largest_bound_9(counts),
                "DG premise": np.where(has_positive.any(1), perfect, np.nan),
            }
        )
