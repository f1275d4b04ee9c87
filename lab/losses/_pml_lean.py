"""Parts of pytorch-metric-learning computed in O(n r) memory where the library's own take more."""

from __future__ import annotations

import torch
from pytorch_metric_learning import distances, losses
from torch import Tensor


class LeanNTXent(losses.NTXentLoss):
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


class LeanSNRDistance(distances.SNRDistance):
    """The library's distance from one product of centred rows, in the place of all differences, [n r d]."""

    def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        query, item = (rows - rows.mean(1, keepdim=True) for rows in (query_emb, ref_emb))
        signal, other = query.square().sum(1)[:, None], item.square().sum(1)[None, :]
        return (signal + other - 2 * query @ item.T).clamp_min(0) / signal
