"""Calibration loss (001, eq. 7): pull positive scores over one threshold and negative scores under another.

Scores that mean the same in every batch make the mean of the batches' APs close to the AP of the whole set. Where the
loss is zero on every batch, with alpha above beta, each batch and the whole set are ranked right, so that there is no
decomposability gap; where batches are ranked right, what violates a threshold bounds it (001, eq. 9). Per query,

    mean over positives of [alpha - s]+   plus   mean over negatives of [s - beta]+

then the mean over queries. The released code is a contrastive loss instead: it divides by the number of violating pairs
of the whole batch, so its gradient does not fade when few pairs are left. Time O(n r d); no similarity
matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import HasKnobs, knob
from lab.kernels import Peak, hinge_sums, pair_similarities
from lab.losses._base import Loss, RankingKnobs, mean_per_query
from lab.losses._batch import Batch
from lab.losses._ranks import Excess


def excess_of_negatives(batch: Batch, beta: float) -> Excess:
    """By how much each query's negatives exceed beta."""
    n = len(batch)
    total, violations = hinge_sums(*batch.sides, batch.pairs(), beta, exclude_self=batch.self_ranked)
    return Excess(total[:n], violations[:n])


def positive_similarities(batch: Batch, include_self: bool) -> Tensor:
    """The similarity of each positive to its query, [p].

    To be asked for before the tiles are walked: backward goes the other way, and their memory is free by then.
    """
    return pair_similarities(*batch.sides, batch.pairs(include_self))


def calibration_values(batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess) -> Tensor:
    """001 eq. 7, one value a query, [n]."""
    pairs, n = batch.pairs(include_self), len(batch)
    too_far = mean_per_query((alpha - similarities).clamp_min(0), pairs[:, 0], n)
    alike = torch.bincount(batch.pairs(include_self=True)[:, 0], minlength=n)
    return too_far + excess.total / (len(batch.items) - alike).clamp_min(1)


def active_pair_values(batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess) -> Tensor:
    """Contrastive loss averaged over the pairs that violate their threshold (004, eq. 29), [n].

    n times each query's share: their mean over the n queries is the loss.
    """
    far, near = active_pair_parts(batch, similarities, alpha, include_self, excess)
    return far + near


def active_pair_parts(
    batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess
) -> tuple[Tensor, Tensor]:
    """What positives and what negatives add to `active_pair_values`, [n] each."""
    pairs, n = batch.pairs(include_self), len(batch)
    too_far = (alpha - similarities).clamp_min(0)
    share_far = too_far.new_zeros(n).index_add(0, pairs[:, 0], too_far) / (too_far > 0).sum().clamp_min(1)
    return n * share_far, n * (excess.total / excess.violations.sum().clamp_min(1))


class CalibrationKnobs(HasKnobs):
    """The two thresholds, shared with ROADMAP."""

    alpha: float = knob(
        "Positives should score above this.", default=0.9, ge=-1, le=1, unit="cosine", source="ROADMAP, eq. 7"
    )
    beta: float = knob(
        "Negatives should score below this.", default=0.6, ge=-1, le=1, unit="cosine", source="ROADMAP, eq. 7"
    )


class Calibration(CalibrationKnobs, RankingKnobs, Loss):
    """Calibration of scores across batches (ROADMAP, eq. 7). Range [0, 1 + alpha + 1 - beta], lower is better.

    variant "released" averages over the violating pairs of the batch; `per_query` then gives n times each query's
    share, whose mean is the loss where every query has a positive: one without is told as NaN. The query itself is left
    out in both.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("calibration", alpha=0.9, beta=0.6)
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.1000, 0.2800, 0.2800, 0.1000])
    """

    family = "pair"
    peak = Peak(3, tiles=0.3)

    @property
    def mean_of_queries(self) -> bool:
        return self.knobs.variant == "paper"

    @property
    def learns_from_negatives(self) -> bool:
        return self.knobs.variant == "released"

    def values(self, batch: Batch) -> Tensor:
        return self.values_with(batch, self.similarities(batch), excess_of_negatives(batch, self.knobs.beta))

    def total(self, batch: Batch) -> Tensor:
        return self.total_with(batch, self.similarities(batch), excess_of_negatives(batch, self.knobs.beta))

    def similarities(self, batch: Batch) -> Tensor:
        """`positive_similarities` of the pairs that the loss looks at."""
        return positive_similarities(batch, self.ranks_itself)

    def values_with(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        """`values`, from similarities and an excess that are known already."""
        shares = self._shares(batch, similarities, excess)
        alone = torch.bincount(batch.pairs(self.ranks_itself)[:, 0], minlength=len(batch)) == 0
        return shares.masked_fill(alone, torch.nan)

    def total_with(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        """`total`, from similarities and an excess that are known already."""
        if self.knobs.variant == "paper":
            return self.values_with(batch, similarities, excess).nanmean()
        return self._shares(batch, similarities, excess).mean()

    def _shares(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        values = calibration_values if self.knobs.variant == "paper" else active_pair_values
        return values(batch, similarities, self.knobs.alpha, self.ranks_itself, excess)
