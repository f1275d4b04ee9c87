"""Decomposability gap of average precision, with its two bounds (001, eq. 6, 8, 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.core.knobs import Knobs, knob
from lab.core.results import JUNK, Evidence, Measurement, Ranking
from lab.metrics._base import Metric, measurement, positive_ranks

CELLS = 2**23
"""Similarities held at once: 32 MB."""


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

    def worst_first(self) -> BatchCounts:
        """Each query's batches by falling number of negatives for each positive.

        The bounds depend on how the batches are numbered, which the paper leaves open. For batches of one size this
        order gives the lowest average precision that any interleaving of perfectly ranked batches can have; where
        sizes differ by a few items (the query itself, the last batch) it comes close.
        """
        order = np.argsort(-self.negatives / np.maximum(self.positives, 1e-9), axis=1, kind="stable")
        return BatchCounts(*(np.take_along_axis(array, order, 1) for array in vars(self).values()))


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


def _before(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts, axis=1) - counts


def _per_positive(sums: np.ndarray, counts: BatchCounts) -> np.ndarray:
    total = counts.positives.sum(1)
    return np.divide(sums, total, out=np.full(len(sums), np.nan), where=total > 0)


def batches(items: int, batch_size: int, seed: int) -> np.ndarray:
    """int64 [K batch_size]: a random split of the items into batches; -1 fills up the last one."""
    shuffled = np.random.default_rng(seed).permutation(items)
    count = -(-items // batch_size)
    return np.pad(shuffled, (0, count * batch_size - items), constant_values=-1).reshape(count, batch_size)


def batch_counts(
    queries: np.ndarray, gallery: np.ndarray, ranking: Ranking, members: np.ndarray, alpha: float, beta: float
) -> BatchCounts:
    """Look at every batch with every query.

    Args:
        queries, gallery: unit rows [q d], [g d].
        ranking: says which item is the query itself, which are its positives, and which are junk.
        members: int64 [K B], gallery positions of each batch, -1 where it is short.
        alpha, beta: similarities that positives should reach and negatives should not exceed (001, eq. 7).

    Time O(q g d), memory O(q K) beside a block of similarities.
    """
    rows = max(1, CELLS // members.size)
    parts = [
        _block_counts(
            np.arange(start, min(start + rows, len(queries))), queries, gallery, ranking, members, alpha, beta
        )
        for start in range(0, len(queries), rows)
    ]
    return BatchCounts(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def _block_counts(rows, queries, gallery, ranking, members, alpha, beta) -> BatchCounts:
    similarity = np.full((len(rows), members.size), -np.inf, np.float32)
    present = members.ravel() >= 0
    similarity[:, present] = queries[rows] @ gallery[members.ravel()[present]].T
    slot = np.full(len(gallery) + 1, -1)
    slot[members.ravel()[present]] = np.flatnonzero(present)

    own = slot[ranking.self_index[rows]]  # slot -1 of an absent self is the spare last entry
    row, item, grade = _relevant(rows, ranking)
    left_out = grade == JUNK
    similarity[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
    similarity[row[left_out], slot[item[left_out]]] = -np.inf
    row, place = row[~left_out], slot[item[~left_out]]

    shape = (len(rows), *members.shape)
    listed = np.isfinite(similarity).reshape(shape).sum(2)
    batch = place // members.shape[1]
    mine = similarity[row, place]
    cell = row * len(members) + batch

    def per_cell(weights=None):
        return np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape[:2])

    positives = per_cell().astype(np.int64)
    above_beta = (similarity > beta).reshape(shape).sum(2)
    precision = per_cell(_precision_at(similarity.reshape(shape), row, batch, place % members.shape[1], cell))
    return BatchCounts(
        positives=positives,
        negatives=listed - positives,
        precision=np.divide(precision, positives, out=np.full(shape[:2], np.nan), where=positives > 0),
        high_positives=per_cell(mine >= alpha).astype(np.int64),
        high_negatives=above_beta - per_cell(mine > beta).astype(np.int64),
    )


def _relevant(rows, ranking: Ranking):
    """Row in the block, gallery position and grade of every relevant item of these queries."""
    counts = ranking.num_positives[rows]
    mine = np.arange(ranking.offsets[rows[0]], ranking.offsets[rows[-1] + 1])
    grades = np.zeros(len(mine)) if ranking.positive_grades is None else ranking.positive_grades[mine]
    return np.repeat(np.arange(len(rows)), counts), ranking.positive_items[mine], grades


def _precision_at(similarity, row, batch, place, cell) -> np.ndarray:
    """float64 [p]: precision at each positive within its batch; equal similarities are ordered by place."""
    order = np.lexsort((place, -similarity[row, batch, place], cell))
    found = np.arange(len(order)) - np.searchsorted(cell[order], cell[order], "left") + 1
    precision = np.empty(len(order))
    for start in range(0, len(order), 4096):
        part = order[start : start + 4096]
        others = similarity[row[part], batch[part]]
        mine = others[np.arange(len(part)), place[part]][:, None]
        earlier = np.arange(similarity.shape[2]) < place[part][:, None]
        rank = 1 + ((others > mine) | ((others == mine) & earlier)).sum(1)
        precision[part] = found[start : start + 4096] / rank
    return precision


class DecomposabilityGap(Metric):
    """How much better average precision looks in batches than in the whole set; mean over queries.

    Columns:
        `DG`: mean over batches of the AP within the batch, less the AP of the whole gallery (eq. 6). Batches without
            a positive of the query have no AP and are left out of the mean.
        `DG bound (eq. 8)`, `DG bound (eq. 9)`: the gap would be at most this if every batch were ranked perfectly.
            They depend on the numbering of the batches; here those with the fewest positives for their size come
            first, for which eq. 8 is exact over all interleavings of batches of one size. Eq. 9 holds for the order
            taken only.
        `DG premise`: share of queries whose batches are all ranked perfectly, so that the bounds apply.

    The gallery is split at random, so that the number depends on `batch_size` and `seed`.

    Example (`evidence` is that of `lab.metrics`):
        >>> found = lab.metrics.create("decomposability_gap", batch_size=3)(evidence)
        >>> found.values["DG"] > 0  # batches of three flatter the ranking of six
        True
    """

    higher_is_better = False
    bounds = (-1.0, 1.0)
    needs = "embeddings"

    class Knobs(Knobs):
        batch_size: int = knob(128, "items in a batch", ge=2, scale="log", source="001 eq. 6")
        alpha: float = knob(0.9, "similarity that positives should reach", ge=-1, le=1, source="001 eq. 7")
        beta: float = knob(0.6, "similarity that negatives should not exceed", ge=-1, le=1, source="001 eq. 7")
        seed: int = knob(0, "seed of the split into batches", ge=0)

    def __init__(self, **knobs):
        super().__init__(**knobs)
        if self.knobs.beta > self.knobs.alpha:
            raise ValueError(f"beta must be at most alpha, {self.knobs.alpha}, got {self.knobs.beta}.")

    def __call__(self, evidence: Evidence) -> Measurement:
        knobs, ranking = self.knobs, evidence.ranking
        members = batches(len(evidence.gallery), knobs.batch_size, knobs.seed)
        counts = batch_counts(
            _unit(evidence.query.vectors), _unit(evidence.gallery.vectors), ranking, members, knobs.alpha, knobs.beta
        ).worst_first()
        whole = positive_ranks(ranking)
        precision = whole.share(whole.sum(whole.precision), whole.total)
        has_positive = counts.positives > 0
        in_batches = _per_batch(np.nansum(counts.precision, axis=1), has_positive.sum(1))
        perfect = np.where(has_positive, counts.precision >= 1, True).all(1)
        return measurement(
            {
                "DG": in_batches - precision,
                "DG bound (eq. 8)": bound_8(counts),
                "DG bound (eq. 9)": bound_9(counts),
                "DG premise": np.where(has_positive.any(1), perfect, np.nan),
            }
        )


def _per_batch(sums: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.divide(sums, count, out=np.full(len(sums), np.nan), where=count > 0)


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
