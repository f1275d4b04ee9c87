"""Contrastive loss on the signal-to-noise distance (Yuan et al., 2019), from pytorch-metric-learning.

The distance of a query x to z is var(x - z) / var(x), over the entries of the unit rows. Averages as the contrastive
loss does. O(n r d) time, O(n r) memory.
"""

from __future__ import annotations

from lab.core.knobs import Knobs, knob
from lab.losses._pml import PmlLoss


class SignalToNoiseRatioContrastive(PmlLoss):
    """Contrastive loss on noise over signal. Not negative, lower is better.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("signal_to_noise_ratio_contrastive", neg_margin=0.5)
        >>> round(loss(torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), torch.tensor([0, 0, 1])).item(), 3)
        8.32
    """

    class Knobs(Knobs):
        pos_margin: float = knob(0.0, "Positives closer than this are left alone.", ge=0, unit="variance ratio")
        neg_margin: float = knob(1.0, "Negatives farther than this are left alone.", ge=0, unit="variance ratio")

    def build(self, knobs):
        from pytorch_metric_learning import losses

        from lab.losses._pml_lean import LeanSNRDistance

        return losses.SignalToNoiseRatioContrastiveLoss(
            pos_margin=knobs.pos_margin, neg_margin=knobs.neg_margin, distance=LeanSNRDistance()
        )
