"""ProxyAnchor (Kim et al., 2020), from pytorch-metric-learning.

For each proxy, log(1 + sum exp(-alpha (s - margin))) over the batch's examples of its class, averaged over the proxies
that have any, plus log(1 + sum exp(alpha (s + margin))) over the other examples, averaged over all proxies.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import sharing
from lab.losses._batch import Batch
from lab.losses._pml import PmlClassLoss


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
    shares_add_up = False
    shares_classes = True
    theirs = "ProxyAnchorLoss"

    alpha: float = knob(
        "Sharpness of the weighting (scaling factor).", default=32.0, gt=0, scale="log", source="Kim et al. 2020, eq. 4"
    )
    margin: float = knob(
        "Margin in similarity.", default=0.1, ge=0, le=1, unit="cosine", source="Kim et al. 2020, eq. 4"
    )

    @classmethod
    def of_part(cls, first: int, count: int, num_classes: int, dim: int, **knobs: Any) -> Self:
        """The library's proxies are the shorter, the more there are."""
        part = cls(num_classes=count, dim=dim, **knobs)
        part.inner.proxies.data *= (count / num_classes) ** 0.5
        return part

    def values(self, batch: Batch) -> Tensor:
        return self.part_values(batch, sharing.Part(sharing.ALONE, self.knobs.num_classes))

    def part_values(self, batch: Batch, part: sharing.Part) -> Tensor:
        pulls, pushes, same_class = self._exponents(batch, part)
        zero = pulls.new_zeros(())
        pulled = torch.where(same_class, torch.logaddexp(pulls, zero), 0).sum(1)
        pushed = torch.where(same_class, 0, torch.logaddexp(pushes, zero)).sum(1)
        sums = part.share.summed(torch.stack([pulled, pushed]))
        return sums[0] + sums[1] / part.count

    def part_total(self, batch: Batch, part: sharing.Part) -> Tensor:
        pulls, pushes, same_class = self._exponents(batch, part)
        some = pulls.where(same_class, -torch.inf), pushes.where(~same_class, -torch.inf)
        with_zero = (torch.nn.functional.pad(exponents, (0, 0, 1, 0)) for exponents in some)  # log(1 + sum exp)
        sums = part.share.summed(torch.stack([torch.logsumexp(exponents, 0).sum() for exponents in with_zero]))
        return sums[0] / len(batch.query_labels.unique()) + sums[1] / part.count

    def _exponents(self, batch: Batch, part: sharing.Part) -> tuple[Tensor, Tensor, Tensor]:
        """Exponents of pull and push, [n c] each, and where a proxy is of the example's class, bool [n c]."""
        rows, (_, places) = part.share.entering(batch.queries), part.places(batch.query_labels)
        self.inner.cast_types(rows.dtype, rows.device)
        cosines, knobs = self.inner.get_logits(rows), self.knobs
        same_class = places[:, None] == torch.arange(cosines.shape[1], device=places.device)
        return knobs.alpha * (knobs.margin - cosines), knobs.alpha * (knobs.margin + cosines), same_class
