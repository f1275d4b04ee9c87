"""SoftBin-AP (He et al., 2018; Revaud et al., 2019): average precision of soft histograms of similarities.

Bins run from the highest similarity to the lowest. With h+ and h the positives and items in a bin, H+ and H their sums
so far, precision H+ / H is weighted by the recall h+ / sum h+ that the bin adds:

    1 - sum over bins of  (h+ / sum h+) (H+ / H)

then the mean over queries. The paper has 20 bins on [-1, 1]. The released code has 25 on [0, 1], so a pair with a
negative cosine gets no gradient. In both the query is among the items and among its own positives.

Time O(n r d); no similarity matrix is kept.
"""

from __future__ import annotations

from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses.fast_ap import binned_ap

PAPER = (20, -1.0)
RELEASED = (25, 0.0)
"""Number of bins and centre of the lowest bin, in the paper and in the released code."""


class SoftBinAP(RankingKnobs, Loss):
    """1 - AP of soft similarity histograms (Revaud et al., 2019). Range [0, 1], lower is better.

    When to use: as `fast_ap`; this is the form of instance retrieval by listwise loss. A batch needs at least two
    images per class.

    Relations: `fast_ap` with bins=b equals this loss with bins=b+1, low=-1 and include_self=False.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("softbin_ap")
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.3650, 0.3650, 0.0000])
    """

    family = "ranking"
    with_self = ("paper", "released")

    bins: int | None = knob(
        "Number of bins; none: 20 (paper) or 25 (released).",
        default=None,
        ge=2,
        le=10_000,
        source="Revaud et al. 2019",
    )
    low: float | None = knob(
        "Centre of the lowest bin; the highest is 1. None: -1 (paper) or 0 (released).",
        default=None,
        ge=-1,
        lt=1,
        unit="cosine",
        source="Revaud et al. 2019",
    )

    @property
    def peak(self) -> Peak:
        most_bins = self.knobs.bins or RELEASED[0]
        return Peak(2, bins=2 * (1 + most_bins) // 3)  # per bin two thirds of the memory of FastAP

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        bins, low = RELEASED if knobs.variant == "released" else PAPER
        if knobs.bins is not None:
            bins = knobs.bins
        if knobs.low is not None:
            low = knobs.low
        return 1 - binned_ap(batch, self.ranks_itself, low, bins - 1)
