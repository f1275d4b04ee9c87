"""NormSoftmax (Zhai and Wu, 2019), from pytorch-metric-learning.

Softmax cross-entropy on cosine / temperature of unit rows with unit class weights; the mean over the batch.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._base import ClassKnobs
from lab.losses._pml import PmlClassLoss


class NormalizedSoftmax(PmlClassLoss):
    """Cross-entropy on cosines with class weights (Zhai and Wu, 2019). Not negative, lower is better."""

    class Knobs(ClassKnobs):
        temperature: float = knob(0.05, "Temperature of the softmax.", gt=0, scale="log", unit="cosine")

    def build(self, knobs):
        from pytorch_metric_learning import losses

        return losses.NormalizedSoftmaxLoss(
            num_classes=knobs.num_classes, embedding_size=knobs.dim, temperature=knobs.temperature
        )
