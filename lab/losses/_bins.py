"""Soft histograms with triangular bins, as FastAP and SoftBin-AP count with."""

from __future__ import annotations

import torch
from torch import Tensor


def soft_histogram(values: Tensor, mask: Tensor, low: float, high: float, intervals: int) -> Tensor:
    """Histogram of each row's masked values, [n intervals+1].

    Centres lie evenly on [low, high], ends included; a value is split between the two centres around it in proportion
    to nearness, and one beyond an end falls into the end's bin, without gradient. On a centre the gradient is that of
    the interval above. O(n r) time and memory.

    values: [n r]; mask: bool [n r].
    """
    place = ((values - low) * (intervals / (high - low))).clamp(0, intervals)
    lower = place.detach().floor().clamp_max(intervals - 1).long()
    share = place - lower
    counts = values.new_zeros(len(values), intervals + 1)
    counts = counts.scatter_add(1, lower, torch.where(mask, 1 - share, 0))
    return counts.scatter_add(1, lower + 1, torch.where(mask, share, 0))


def binned_precision(found: Tensor, seen: Tensor, count: Tensor) -> Tensor:
    """Average precision of histograms that run from the best bin to the worst, [n]; NaN without positives.

    Each bin's positives, as a share of all, are worth the precision of all bins up to it.
    found, seen: [n bins], positives and ranked items of every bin; count: [n], positives.
    """
    seen_so_far = seen.cumsum(1)
    precision = found.cumsum(1) / torch.where(seen_so_far > 0, seen_so_far, 1)
    return ((found * precision).sum(1) / count.clamp_min(1)).masked_fill(count == 0, torch.nan)
