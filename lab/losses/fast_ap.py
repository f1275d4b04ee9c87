"""FastAP (Cakir et al., 2019; eq. 8 there): average precision of soft histograms of distances.

Squared distances of unit rows, on [0, 4], are spread over `bins` + 1 triangular bins. With h+ the positives in a bin,
H+ and H the cumulated positives and items up to it,

    1 - (1 / |P|) sum over bins of  h+ H+ / H

then the mean over queries with positives. The released code's hand-written backward omits a factor 2 / N, so its
gradient is N / 2 times too large for N such queries; `variant="released"` reproduces that. The query is not ranked.

Time O(n r d); no similarity matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak, soft_histograms
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch


def binned_ap(batch: Batch, include_self: bool, low: float, intervals: int) -> Tensor:
    """Compute the average precision of each query from bins of similarity on [low, 1], [n]; NaN without positives.

    Bins run from the highest similarity to the lowest. The precision up to each bin is weighted by the share of the
    positives that lie in the bin.
    """
    positives, items_so_far = soft_histograms(
        batch.queries,
        batch.items,
        batch.query_labels,
        batch.item_labels,
        batch.self_ranked and not include_self,
        low,
        intervals,
    )
    precision = positives.cumsum(1) / torch.where(items_so_far > 0, items_so_far, 1)
    count = positives.detach().sum(1).round()
    average = (positives * precision).sum(1) / count.clamp_min(1)
    return average.masked_fill(count == 0, torch.nan)


class FastAP(RankingKnobs, Loss):
    """1 - AP of soft distance histograms (Cakir et al., 2019). Range [0, 1], lower is better.

    When to use: a ranking loss that is cheap in large batches, since its cost does not grow with the number of positive
    pairs. A batch needs at least two images per class.

    Relations: equals `softbin_ap` with bins one more, low=-1 and include_self=False. `smooth_ap` compares single
    similarities instead of counting them in bins.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("fast_ap", bins=20)
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.5000, 0.5000, 0.0000])
    """

    family = "ranking"

    bins: int = knob(
        "Number of intervals of the histogram; it has one bin more.",
        default=10,
        ge=1,
        le=10_000,
        source="Cakir et al. 2019",
    )

    @property
    def peak(self) -> Peak:
        return Peak(2, bins=self.knobs.bins + 1)

    def values(self, batch: Batch) -> Tensor:
        # squared distances on [0, 4]
        return 1 - binned_ap(batch, self.ranks_itself, -1.0, self.knobs.bins)

    def total(self, batch: Batch) -> Tensor:
        values = self.values(batch)
        loss = values.nanmean()
        if self.knobs.variant == "paper":
            return loss
        # Add a term of value zero that scales the gradient by N / 2, as the released code does.
        excess = (~values.isnan()).sum() / 2 - 1
        return loss + excess * (loss - loss.detach())
