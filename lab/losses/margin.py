"""Margin loss (Wu et al., 2017), from pytorch-metric-learning.

On Euclidean distances of unit rows, over triplets: [d(a, p) - beta + margin]+ + [beta - d(a, n) + margin]+, summed and
divided by the number of terms that are not zero; beta, the boundary, may be learnt. O(p n) time and
memory with every triplet, for p positive pairs; `triplets_per_anchor` draws some instead.
"""

from __future__ import annotations

from lab.core.knobs import Knobs, knob
from lab.losses._pml import PmlTripletLoss


class Margin(PmlTripletLoss):
    """Positives inside a boundary, negatives outside, each by a margin. Lower is better.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("margin", margin=0.2, beta=1.0)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.509
    """

    class Knobs(Knobs):
        margin: float = knob(0.2, "Distance to keep from the boundary.", ge=0, le=2, unit="distance")
        beta: float = knob(1.2, "The boundary.", ge=0, le=2, unit="distance", source="Wu et al. 2017, eq. 5")
        learn_beta: bool = knob(False, "Learn the boundary.", source="Wu et al. 2017, eq. 6")
        nu: float = knob(0.0, "Weight of the boundary itself in the loss when it is learnt.", ge=0)
        triplets_per_anchor: int | None = knob(None, "Random triplets for each anchor; None is every triplet.", ge=1)

    def build(self, knobs):
        from pytorch_metric_learning import losses

        return losses.MarginLoss(
            margin=knobs.margin,
            beta=knobs.beta,
            learn_beta=knobs.learn_beta,
            nu=knobs.nu,
        )
