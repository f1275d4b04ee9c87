"""SoftBin-AP (He et al., 2018; Revaud et al., 2019): average precision of soft histograms of similarities.

Bins run from the highest similarity to the lowest. With h+ and h the positives and items in a bin, H+ and H their sums
so far, precision H+ / H is weighted by the recall h+ / sum h+ that the bin adds:

    1 - sum over bins of  (h+ / sum h+) (H+ / H)

then the mean over queries. The paper has 20 bins on [-1, 1]. The released code has 25 on [0, 1], so a pair with a
negative cosine gets no gradient. In both the query is among the items and among its own positives.

O(n r) time and memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.knobs import knob
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._bins import soft_histogram

PAPER = (20, -1.0)
RELEASED = (25, 0.0)


def softbin_ap_values(batch: Batch, bins: int, low: float, include_self: bool) -> Tensor:
    """1 - SoftBin-AP, one value a query, [n]."""
    positives = batch.positives(include_self)
    ranked = positives | batch.negatives
    found = soft_histogram(-batch.similarities, positives, -1.0, -low, bins - 1)
    found_so_far = found.cumsum(1)
    seen_so_far = soft_histogram(-batch.similarities, ranked, -1.0, -low, bins - 1).cumsum(1)
    precision = found_so_far / torch.where(seen_so_far > 0, seen_so_far, 1)
    count = positives.sum(1)
    return (1 - (found * precision).sum(1) / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


class SoftBinAP(Loss):
    """1 - AP of soft similarity histograms (Revaud et al., 2019). Range [0, 1], lower is better."""

    class Knobs(RankingKnobs):
        bins: int | None = knob(
            None, "Number of bins; None takes 20 (paper) or 25 (released).", ge=2, source="Revaud et al. 2019"
        )
        low: float | None = knob(
            None,
            "Centre of the lowest bin; the highest is 1. None takes -1 (paper) or 0 (released).",
            ge=-1,
            lt=1,
            unit="cosine",
            source="Revaud et al. 2019",
        )

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        bins, low = RELEASED if knobs.variant == "released" else PAPER
        bins = bins if knobs.bins is None else knobs.bins
        low = low if knobs.low is None else knobs.low
        return softbin_ap_values(batch, bins, low, knobs.include_self is not False)
