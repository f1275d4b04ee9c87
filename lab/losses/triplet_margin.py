"""Triplet margin loss (Schroff et al., 2015), from pytorch-metric-learning.

On Euclidean distances of unit rows: mean of [d(a, p) - d(a, n) + margin]+ over the triplets where it is not zero.
O(p n) time and memory with every triplet, for p positive pairs; `triplets_per_anchor` draws some instead.
"""

from __future__ import annotations

from torch import Tensor

from lab.core.knobs import Knobs, knob
from lab.kernels import Peak
from lab.losses._batch import Batch
from lab.losses._pml import PmlTripletLoss


class TripletMargin(PmlTripletLoss):
    """A positive should be nearer than a negative by a margin. Not negative, lower is better.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("triplet_margin", margin=0.1)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.45
    """

    family = "triplet"

    class Knobs(Knobs):
        margin: float = knob(
            0.05, "Margin by which positives must be nearer than negatives.", ge=0, le=2, unit="distance"
        )
        swap: bool = knob(False, "Use the distance from positive to negative where it is smaller.")
        smooth: bool = knob(False, "Use log(1 + exp) instead of the hinge.")
        triplets_per_anchor: int | None = knob(None, "Random triplets for each anchor; none: every triplet.", ge=1)

    @property
    def peak(self) -> Peak:
        return Peak(7.1, pairs=2.9, triplets=11.9, drawn=self.knobs.triplets_per_anchor)

    def pairs(self, batch: Batch) -> tuple[Tensor, ...]:
        if self.knobs.swap and batch.items is not batch.queries:
            raise ValueError("TripletMargin: swap compares positives with negatives and takes no ref_emb or memory.")
        return super().pairs(batch)

    def build(self, knobs):
        from pytorch_metric_learning import losses

        return losses.TripletMarginLoss(
            margin=knobs.margin,
            swap=knobs.swap,
            smooth_loss=knobs.smooth,
        )
