"""Triplet margin loss (Schroff et al., 2015), from pytorch-metric-learning.

On Euclidean distances of unit rows: mean of [d(a, p) - d(a, n) + margin]+ over the triplets where it is not zero.
With every triplet O(n^3) time and memory; `triplets_per_anchor` draws some instead.
"""

from __future__ import annotations

from pytorch_metric_learning import losses

from lab.knobs import Knobs, knob
from lab.losses._pml import PmlLoss


class TripletMargin(PmlLoss):
    """A positive should be nearer than a negative by a margin. Not negative, lower is better."""

    class Knobs(Knobs):
        margin: float = knob(0.05, "How much nearer.", ge=0, le=2, unit="distance")
        swap: bool = knob(False, "Use the distance from positive to negative where it is the smaller one.")
        smooth: bool = knob(False, "log(1 + exp) in the place of the hinge.")
        triplets_per_anchor: int | None = knob(None, "Random triplets for each anchor; None is every triplet.", ge=1)

    def build(self, knobs):
        return losses.TripletMarginLoss(
            margin=knobs.margin,
            swap=knobs.swap,
            smooth_loss=knobs.smooth,
            triplets_per_anchor=knobs.triplets_per_anchor or "all",
        )
