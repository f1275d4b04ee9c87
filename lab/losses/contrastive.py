"""Contrastive loss (Hadsell et al., 2006), from pytorch-metric-learning.

On Euclidean distances d of unit rows: mean of [d - pos_margin]+ over the positive pairs where it is not zero, plus mean
of [neg_margin - d]+ over such negative pairs. O(n r) time and memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._pml import PmlLoss


class Contrastive(PmlLoss):
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
    theirs = "ContrastiveLoss"

    pos_margin: float = knob("Positives closer than this are left alone.", default=0.0, ge=0, le=2, unit="distance")
    neg_margin: float = knob("Negatives farther than this are left alone.", default=1.0, ge=0, le=2, unit="distance")
