"""ProxyAnchor (Kim et al., 2020), from pytorch-metric-learning.

For each proxy, log(1 + sum exp(-alpha (s - margin))) over the batch's examples of its class, averaged over the proxies
that have any, plus log(1 + sum exp(alpha (s + margin))) over the other examples, averaged over all proxies.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._base import ClassKnobs
from lab.losses._batch import Batch
from lab.losses._pml import PmlClassLoss

if TYPE_CHECKING:
    from pytorch_metric_learning.losses import BaseMetricLossFunction


class ProxyAnchor(PmlClassLoss):
    """Each class proxy gathers its examples against all others (Kim et al., 2020). Not negative, lower is better.

    A mean over proxies, so `per_query` gives what the loss would be for each example alone.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("proxy_anchor", num_classes=2, dim=2, alpha=4)
        >>> loss.inner.proxies.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([1.4890, 1.9400])
    """

    family = "proxy"
    peak = Peak(0.8, classes=10.6, vectors=1.2)
    shares_add_up = False

    class Knobs(ClassKnobs):
        alpha: float = knob(
            32.0, "Sharpness of the weighting (scaling factor).", gt=0, scale="log", source="Kim et al. 2020, eq. 4"
        )
        margin: float = knob(0.1, "Margin in similarity.", ge=0, le=1, unit="cosine", source="Kim et al. 2020, eq. 4")

    def build(self, knobs: Knobs) -> BaseMetricLossFunction:
        from pytorch_metric_learning import losses

        return losses.ProxyAnchorLoss(
            num_classes=knobs.num_classes, embedding_size=knobs.dim, margin=knobs.margin, alpha=knobs.alpha
        )

    def values(self, batch: Batch) -> Tensor:
        rows = zip(batch.queries.split(1), batch.query_labels.split(1), strict=True)
        return torch.stack([self.inner(row, label) for row, label in rows])
