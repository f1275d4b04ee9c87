"""Average precision from soft histograms, as FastAP and SoftBin-AP compute it."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.kernels import soft_histograms
from lab.losses._batch import Batch


def binned_ap(batch: Batch, include_self: bool, low: float, intervals: int) -> Tensor:
    """Average precision of each query by bins of similarity on [low, 1], [n]; NaN without positives."""
    sides = batch.queries, batch.items, batch.query_labels, batch.item_labels
    positives, seen = soft_histograms(*sides, batch.self_ranked and not include_self, low, intervals)
    return binned_precision(positives, seen)


def binned_precision(positives: Tensor, seen: Tensor) -> Tensor:
    """Average precision of histograms that run from the best bin to the worst, [n]; NaN without positives.

    Each bin's positives, as a share of all, are worth the precision of all bins up to it.
    found: [n bins], positives of every bin; seen: [n bins], items of the bins up to it.
    """
    precision = positives.cumsum(1) / torch.where(seen > 0, seen, 1)
    count = positives.detach().sum(1).round()
    return ((positives * precision).sum(1) / count.clamp_min(1)).masked_fill(count == 0, torch.nan)
