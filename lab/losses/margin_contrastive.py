"""Contrastive loss on cosines, averaged over the pairs that violate their margin (004, eq. 29).

    mean of delta+ - s over the positive pairs below delta+   plus   mean of s - delta- over the negatives above delta-

This is a part of the contextual loss and, with delta+ at 0.9 (appendix H.5), that paper's baseline "contrastive". The
released calibration of 001 computes the same numbers. `contrastive` is the older form on distances, which pulls
positives until they coincide. Time O(n r d); no similarity matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import HasKnobs, knob
from lab.kernels import Peak
from lab.losses._base import Loss
from lab.losses._batch import Batch
from lab.losses.calibration import active_pair_values, excess_of_negatives, positive_similarities


class MarginKnobs(HasKnobs):
    """The two margins, shared with the wrapper `with_contrastive`."""

    delta_pos: float = knob(
        "Positives should score above this.",
        default=0.9,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, appendix H.5",
    )
    delta_neg: float = knob(
        "Negatives should score below this.",
        default=0.6,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 29",
    )


def contrastive_shares(batch: Batch, margins: MarginKnobs) -> Tensor:
    """Compute n times each query's share of eq. 29, [n]; their mean is the loss. Rows must have unit length."""
    similarities = positive_similarities(batch, include_self=False)
    excess = excess_of_negatives(batch, margins.delta_neg)
    return active_pair_values(
        batch, similarities, margins.delta_pos, include_self=False, excess=excess
    )


class MarginContrastive(MarginKnobs, Loss):
    """Contrastive loss with a margin on either side, on cosines (Contextual, eq. 29). Not negative, lower is better.

    `per_query` returns n times each query's share. If every query has a positive, their mean is the loss; a query
    without a positive gets NaN.

    When to use: a simple and strong baseline of pairs; also beside a ranking loss (`with_contrastive`). A batch needs
    at least two images per class.

    Relations: equals `calibration` in its variant "released". It is the contrastive part of `contextual`, there with
    delta_pos=0.75. `contrastive` is the older form on distances.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("margin_contrastive")
        >>> round(loss(embeddings, labels).item(), 3)  # 0.9 - 0.8 of each positive, and 0.96 - 0.6 of one negative
        0.46
    """

    family = "pair"
    peak = Peak(3, tiles=0.3)
    mean_of_queries = False
    learns_from_negatives = True

    def values(self, batch: Batch) -> Tensor:
        without_positives = torch.bincount(batch.pairs()[:, 0], minlength=len(batch)) == 0
        return contrastive_shares(batch, self.knobs).masked_fill(without_positives, torch.nan)

    def total(self, batch: Batch) -> Tensor:
        return contrastive_shares(batch, self.knobs).mean()
