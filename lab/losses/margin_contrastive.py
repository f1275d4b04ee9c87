"""Contrastive loss on cosines, averaged over the pairs that violate their margin (004, eq. 29).

    mean of delta+ - s over the positive pairs below delta+   plus   mean of s - delta- over the negatives above delta-

A part of the contextual loss there, and with delta+ at 0.9 (appendix H.5) the paper's baseline "contrastive". The
same numbers are the released calibration of 001. `contrastive` is the older form on distances, which has no room for
positives. Time O(n r d); no similarity matrix is kept.
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
        "Positives should score above this.", default=0.9, ge=-1, le=1, unit="cosine", source="Contextual, appendix H.5"
    )
    delta_neg: float = knob(
        "Negatives should score below this.", default=0.6, ge=-1, le=1, unit="cosine", source="Contextual, eq. 29"
    )


def contrastive_shares(batch: Batch, margins: MarginKnobs) -> Tensor:
    """n times each query's share of eq. 29, [n]; their mean is the loss. Rows are of unit length."""
    similarities = positive_similarities(batch, include_self=False)
    excess = excess_of_negatives(batch, margins.delta_neg)
    return active_pair_values(batch, similarities, margins.delta_pos, include_self=False, excess=excess)


class MarginContrastive(MarginKnobs, Loss):
    """Contrastive loss with a margin on either side, on cosines (Contextual, eq. 29). Not negative, lower is better.

    `per_query` gives n times each query's share; their mean is the loss where every query has a positive, and the share
    of one without is told as NaN.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("margin_contrastive")
        >>> round(loss(embeddings, labels).item(), 3)  # .9 - .8 of every positive, .96 - .6 of the one loud negative
        0.46
    """

    family = "pair"
    peak = Peak(3, tiles=0.3)
    mean_of_queries = False
    learns_from_negatives = True

    def values(self, batch: Batch) -> Tensor:
        alone = torch.bincount(batch.pairs()[:, 0], minlength=len(batch)) == 0
        return contrastive_shares(batch, self.knobs).masked_fill(alone, torch.nan)

    def total(self, batch: Batch) -> Tensor:
        return contrastive_shares(batch, self.knobs).mean()
