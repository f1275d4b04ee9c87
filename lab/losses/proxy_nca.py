"""ProxyNCA++ (Teh et al., 2020), from pytorch-metric-learning.

-log of the softmax over all proxies of minus squared distance over temperature, at the proxy of the class; rows and
proxies have unit length; the mean over the batch. Temperature 1 is the default of the library's ProxyNCALoss.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from typing import Any

from lab.core.knobs import knob
from lab.losses._pml import PmlClassLoss


class ProxyNCA(PmlClassLoss):
    """Softmax over class proxies (Teh et al., 2020). Not negative, lower is better.

    When to use: a fast proxy loss for batches of any composition; each example is compared with one proxy per class. A
    batch needs no positive pairs.

    Relations: equals `normalized_softmax` with half the temperature, because the squared distance of unit rows is 2 - 2
    cosine. `proxy_anchor` sums over the examples of each proxy instead.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("proxy_nca", num_classes=2, dim=2, temperature=1)
        >>> loss.inner.proxies.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([0.5130, 0.9130])
    """

    family = "proxy"
    temperatures = {"temperature": 0.1}

    temperature: float = knob(
        "Temperature of the softmax.",
        default=1 / 9,
        gt=0,
        scale="log",
        unit="squared distance",
        source="Teh et al. 2020",
    )

    def build(self, library: Any) -> Any:
        from lab.losses._pml_lean import StableProxyNCA

        return StableProxyNCA(
            num_classes=self.num_classes,
            embedding_size=self.dim,
            softmax_scale=1 / self.temperature,
        )
