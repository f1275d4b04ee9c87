"""NT-Xent, cross-entropy of similarities (Sohn, 2016; Chen et al., 2020), from pytorch-metric-learning.

For each positive pair (a, p), -log of exp(s_ap / t) over itself plus the sum of exp(s_an / t) over the negatives of a;
the mean over positive pairs. O(n r) time and memory.
"""

from __future__ import annotations

import torch
from pytorch_metric_learning import losses
from torch import Tensor

from lab.knobs import Knobs, knob
from lab.losses._pml import PmlLoss


class NTXent(PmlLoss):
    """Softmax of each positive against the query's negatives. Not negative, lower is better."""

    class Knobs(Knobs):
        temperature: float = knob(0.07, "Temperature of the softmax.", gt=0, scale="log", unit="cosine")

    def build(self, knobs):
        return _LeanNTXent(temperature=knobs.temperature)


class _LeanNTXent(losses.NTXentLoss):
    """The library's loss, which holds a row of all negatives for each positive pair, with one sum a query instead."""

    def _compute_loss(self, pos_pairs, neg_pairs, indices_tuple):
        anchors, positives, negative_anchors, _ = indices_tuple
        if not (len(anchors) and len(negative_anchors)):
            return self.zero_losses()
        queries = int(torch.cat([anchors, negative_anchors]).max()) + 1
        against = log_sum_exp_per_query(neg_pairs / self.temperature, negative_anchors, queries)
        gap = against[anchors] - pos_pairs / self.temperature
        found = torch.logaddexp(gap, torch.zeros_like(gap))
        return {"loss": {"losses": found, "indices": (anchors, positives), "reduction_type": "pos_pair"}}


def log_sum_exp_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """log of the sum of exp over each query's own entries, [n] from [p]; -inf where it has none."""
    lowest = torch.full_like(values[:1], -torch.inf).expand(queries)
    highest = lowest.scatter_reduce(0, owner, values.detach(), "amax")
    total = torch.zeros_like(highest).index_add(0, owner, torch.exp(values - highest[owner]))
    some = total > 0
    return torch.where(some, highest + torch.log(torch.where(some, total, 1)), -torch.inf)
