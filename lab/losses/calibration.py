"""Calibration loss (001, eq. 7): pull positive scores above one threshold and push negative scores below another.

If scores are comparable between batches, the mean AP of the batches is close to the AP of the whole set. If the loss is
zero on every batch and alpha is above beta, each batch and the whole set are ranked right, so the decomposability gap
is zero. If only the batches are ranked right, the violations of the thresholds bound the gap (001, eq. 9). Per query,

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
    """Sum by how much the negatives of each query exceed beta, and count them."""
    n = len(batch)
    total, violations = hinge_sums(
        *batch.sides, batch.pairs(), beta, exclude_self=batch.self_ranked
    )
    return Excess(total[:n], violations[:n])


def positive_similarities(batch: Batch, include_self: bool) -> Tensor:
    """Compute the similarity of each positive to its query, [p].

    Call it before the kernels that walk tiles: backward runs in reverse order, and their memory is free by then.
    """
    return pair_similarities(*batch.sides, batch.pairs(include_self))


def calibration_values(
    batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess
) -> Tensor:
    """Compute one value per query, [n] (001, eq. 7)."""
    n = len(batch)
    owner = batch.pairs(include_self)[:, 0]
    too_far = mean_per_query((alpha - similarities).clamp_min(0), owner, n)
    # items of the query's class
    alike = torch.bincount(batch.pairs(include_self=True)[:, 0], minlength=n)
    return too_far + excess.total / (len(batch.items) - alike).clamp_min(1)


def active_pair_values(
    batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess
) -> Tensor:
    """Compute the contrastive loss averaged over the pairs that violate their threshold (004, eq. 29), [n].

    The values are n times each query's share, so their mean over the n queries is the loss.
    """
    far, near = active_pair_parts(batch, similarities, alpha, include_self, excess)
    return far + near


def active_pair_parts(
    batch: Batch, similarities: Tensor, alpha: float, include_self: bool, excess: Excess
) -> tuple[Tensor, Tensor]:
    """Compute the parts of `active_pair_values` that come from positives and from negatives, [n] each."""
    n = len(batch)
    owner = batch.pairs(include_self)[:, 0]
    too_far = (alpha - similarities).clamp_min(0)
    share_far = too_far.new_zeros(n).index_add(0, owner, too_far) / (too_far > 0).sum().clamp_min(1)
    share_near = excess.total / excess.violations.sum().clamp_min(1)
    return n * share_far, n * share_near


class CalibrationKnobs(HasKnobs):
    """The two thresholds, shared with ROADMAP."""

    alpha: float = knob(
        "Positives should score above this.",
        default=0.9,
        ge=-1,
        le=1,
        unit="cosine",
        source="ROADMAP, eq. 7",
    )
    beta: float = knob(
        "Negatives should score below this.",
        default=0.6,
        ge=-1,
        le=1,
        unit="cosine",
        source="ROADMAP, eq. 7",
    )


class Calibration(CalibrationKnobs, RankingKnobs, Loss):
    """Calibration of scores across batches (ROADMAP, eq. 7). Range [0, 1 + alpha + 1 - beta], lower is better.

    The variant "released" averages over the violating pairs of the batch. `per_query` then returns n times each query's
    share; if every query has a positive, their mean is the loss, and a query without a positive gets NaN. Both variants
    leave out the query itself.

    When to use: as a part of `roadmap`, or beside another ranking loss, so that one threshold on the similarity fits
    all queries. A batch needs at least two images per class.

    Relations: variant "released" equals `margin_contrastive` with the same two thresholds. `roadmap` with lam=1 is this
    loss.

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
        return self.values_with(
            batch, self.similarities(batch), excess_of_negatives(batch, self.knobs.beta)
        )

    def total(self, batch: Batch) -> Tensor:
        return self.total_with(
            batch, self.similarities(batch), excess_of_negatives(batch, self.knobs.beta)
        )

    def similarities(self, batch: Batch) -> Tensor:
        """Compute `positive_similarities` for the pairs that the loss reads."""
        return positive_similarities(batch, self.ranks_itself)

    def values_with(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        """Compute `values` from the similarities and the excess of an earlier pass."""
        shares = self._shares(batch, similarities, excess)
        without_positives = (
            torch.bincount(batch.pairs(self.ranks_itself)[:, 0], minlength=len(batch)) == 0
        )
        return shares.masked_fill(without_positives, torch.nan)

    def total_with(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        """Compute `total` from the similarities and the excess of an earlier pass."""
        if self.knobs.variant == "paper":
            return self.values_with(batch, similarities, excess).nanmean()
        return self._shares(batch, similarities, excess).mean()

    def _shares(self, batch: Batch, similarities: Tensor, excess: Excess) -> Tensor:
        values = calibration_values if self.knobs.variant == "paper" else active_pair_values
        return values(batch, similarities, self.knobs.alpha, self.ranks_itself, excess)
