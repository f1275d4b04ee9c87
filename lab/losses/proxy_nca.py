"""ProxyNCA++ (Teh et al., 2020), from pytorch-metric-learning.

-log of the softmax over all proxies of minus squared distance over temperature, at the proxy of the class; rows and
proxies have unit length; the mean over the batch. Temperature 1 is the library's ProxyNCALoss as it comes.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._base import ClassKnobs
from lab.losses._pml import PmlClassLoss


class ProxyNCA(PmlClassLoss):
    """Softmax over class proxies (Teh et al., 2020). Not negative, lower is better."""

    class Knobs(ClassKnobs):
        temperature: float = knob(
            1 / 9, "Temperature of the softmax.", gt=0, scale="log", unit="squared distance", source="Teh et al. 2020"
        )

    def build(self, knobs):
        from pytorch_metric_learning import losses

        return losses.ProxyNCALoss(
            num_classes=knobs.num_classes, embedding_size=knobs.dim, softmax_scale=1 / knobs.temperature
        )
