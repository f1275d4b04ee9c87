"""Contrastive loss (Hadsell et al., 2006), averaged as pytorch-metric-learning does.

On Euclidean distances d of unit rows: mean of [d - pos_margin]+ over the positive pairs where it is not zero, plus mean
of [neg_margin - d]+ over such negative pairs. O(n r d) time; no similarity matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._pairs import PairLoss, Pairs, distances


class Contrastive(PairLoss):
    """Pull positives under one distance, push negatives over another. Not negative, lower is better.

    When to use: the classical pair loss, as a baseline on distances. A batch needs at least two images per class.

    Relations: `margin_contrastive` is the same idea on cosines, with room for positives to differ.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("contrastive", neg_margin=0.5)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.85
    """

    family = "pair"
    learns_from_negatives = True
    symmetric = True
    peak = Peak(4, tiles=1.4)

    pos_margin: float = knob(
        "Positives closer than this are left alone.", default=0.0, ge=0, le=2, unit="distance"
    )
    neg_margin: float = knob(
        "Negatives farther than this are left alone.", default=1.0, ge=0, le=2, unit="distance"
    )

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        apart = distances(similarities, pairs.batch, pairs.rows)
        return contrastive_terms(apart, pairs, self.knobs.pos_margin, self.knobs.neg_margin)


def contrastive_terms(
    apart: Tensor, pairs: Pairs, pos_margin: float, neg_margin: float
) -> tuple[Tensor, Tensor]:
    """Add up each query's violations of two margins, [b 2], and count them, [b 2]; apart: distances, [b r]."""
    too_far = (apart - pos_margin).clamp_min(0) * pairs.positives
    too_near = (neg_margin - apart).clamp_min(0) * pairs.negatives
    violations = torch.stack([too_far.sum(1), too_near.sum(1)], 1)
    counts = [((too_far > 0) * pairs.positives).sum(1), ((too_near > 0) * pairs.negatives).sum(1)]
    return violations, torch.stack(counts, 1).to(violations)
