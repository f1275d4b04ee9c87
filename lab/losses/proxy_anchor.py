"""ProxyAnchor (Kim et al., 2020), from pytorch-metric-learning.

For each proxy, log(1 + sum exp(-alpha (s - margin))) over the batch's examples of its class, averaged over the proxies
that have any, plus log(1 + sum exp(alpha (s + margin))) over the other examples, averaged over all proxies.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.losses._batch import Batch
from lab.losses._pml import PmlClassLoss


class ProxyAnchor(PmlClassLoss):
    """Each class proxy gathers its examples against all others (Kim et al., 2020). Not negative, lower is better.

    The loss is a mean over proxies, so `per_query` returns the loss of each example as a batch of one.

    When to use: training should converge fast and images of one class should also learn from each other, by the proxy
    that they share. A batch needs no positive pairs.

    Relations: `proxy_nca` compares each example with all proxies; here each proxy is compared with all examples.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("proxy_anchor", num_classes=2, dim=2, alpha=4)
        >>> loss.inner.proxies.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([1.4890, 1.9400])
    """

    family = "proxy"
    temperatures = {"alpha": 10}
    shares_add_up = False
    theirs = "ProxyAnchorLoss"

    alpha: float = knob(
        "Sharpness of the weighting (scaling factor).",
        default=32.0,
        gt=0,
        scale="log",
        source="Kim et al. 2020, eq. 4",
    )
    margin: float = knob(
        "Margin in similarity.",
        default=0.1,
        ge=0,
        le=1,
        unit="cosine",
        source="Kim et al. 2020, eq. 4",
    )

    def values(self, batch: Batch) -> Tensor:
        rows = batch.queries
        knobs = self.knobs
        self.inner.cast_types(rows.dtype, rows.device)
        cosines = self.inner.get_logits(rows)
        zero = cosines.new_zeros(())
        pulls = torch.logaddexp(knobs.alpha * (knobs.margin - cosines), zero)
        pushes = torch.logaddexp(knobs.alpha * (knobs.margin + cosines), zero)
        same_class = batch.query_labels[:, None] == torch.arange(
            knobs.num_classes, device=rows.device
        )
        pulled = torch.where(same_class, pulls, 0).sum(1)
        pushed = torch.where(same_class, 0, pushes).sum(1)
        return pulled + pushed / knobs.num_classes
