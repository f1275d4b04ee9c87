"""Calibration loss (001, eq. 7): pull positive scores over one threshold and negative scores under another.

Scores that mean the same in every batch make the mean of the batches' APs close to the AP of the whole set: the loss
bounds the decomposability gap (001, eq. 9). Per query,

    mean over positives of [alpha - s]+   plus   mean over negatives of [s - beta]+

then the mean over queries. The released code is a contrastive loss instead: it divides by the number of violating pairs
of the whole batch, so its gradient does not fade when few pairs are left. O(n r) time and memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.knobs import knob
from lab.losses._base import Loss, RankingKnobs, masked_mean
from lab.losses._batch import Batch


def calibration_values(batch: Batch, alpha: float, beta: float, include_self: bool) -> Tensor:
    """001 eq. 7, one value a query, [n]."""
    positives = batch.positives(include_self)
    too_far = masked_mean((alpha - batch.similarities).clamp_min(0), positives)
    too_near = masked_mean((batch.similarities - beta).clamp_min(0), batch.negatives)
    return (too_far + too_near).masked_fill(~positives.any(1), torch.nan)


def active_pair_values(similarities: Tensor, positives: Tensor, negatives: Tensor, alpha: float, beta: float) -> Tensor:
    """Contrastive loss averaged over the pairs that violate their threshold (004, eq. 29), [n].

    Each query's share, scaled so that the mean over the n queries is the loss.
    """
    too_far = torch.where(positives, (alpha - similarities).clamp_min(0), 0)
    too_near = torch.where(negatives, (similarities - beta).clamp_min(0), 0)
    shares = (part.sum(1) / (part > 0).sum().clamp_min(1) for part in (too_far, too_near))
    return len(similarities) * sum(shares)


class Calibration(Loss):
    """Calibration of scores across batches (001, eq. 7). Range [0, 1 + alpha + 1 - beta], lower is better.

    variant "released" averages over the violating pairs of the batch; `per_query` then gives each query's share. The
    query itself is left out in both.
    """

    class Knobs(RankingKnobs):
        alpha: float = knob(0.9, "Positives should score above this.", ge=-1, le=1, unit="cosine", source="001 eq. 7")
        beta: float = knob(0.6, "Negatives should score below this.", ge=-1, le=1, unit="cosine", source="001 eq. 7")

    @property
    def mean_of_queries(self) -> bool:
        return self.knobs.variant == "paper"

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        if knobs.variant == "paper":
            return calibration_values(batch, knobs.alpha, knobs.beta, bool(knobs.include_self))
        return self._shares(batch).masked_fill(~batch.positives(bool(knobs.include_self)).any(1), torch.nan)

    def total(self, batch: Batch) -> Tensor:
        return super().total(batch) if self.knobs.variant == "paper" else self._shares(batch).mean()

    def _shares(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        positives = batch.positives(bool(knobs.include_self))
        return active_pair_values(batch.similarities, positives, batch.negatives, knobs.alpha, knobs.beta)
