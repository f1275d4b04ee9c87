"""Parts of pytorch-metric-learning computed in less memory, or exactly, where its own are not."""

from __future__ import annotations

import torch
from pytorch_metric_learning import distances, losses
from pytorch_metric_learning.utils import loss_and_miner_utils
from torch import Tensor


class LeanNTXent(losses.NTXentLoss):
    """The library's loss, which holds a row of all negatives for each positive pair, with one sum a query instead."""

    def _compute_loss(self, pos_pairs: Tensor, neg_pairs: Tensor, indices_tuple: tuple[Tensor, ...]) -> dict:
        anchors, positives, negative_anchors, _ = indices_tuple
        if not (len(anchors) and len(negative_anchors)):
            return self.zero_losses()
        queries = int(torch.cat([anchors, negative_anchors]).max()) + 1
        against = log_sum_exp_per_query(neg_pairs / self.temperature, negative_anchors, queries)
        gap = against[anchors] - pos_pairs / self.temperature
        losses = torch.logaddexp(gap, torch.zeros_like(gap))
        return {"loss": {"losses": losses, "indices": (anchors, positives), "reduction_type": "pos_pair"}}


def log_sum_exp_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """log of the sum of exp over each query's own entries, [n] from [p]; -inf where it has none."""
    lowest = torch.full_like(values[:1], -torch.inf).expand(queries)
    highest = lowest.scatter_reduce(0, owner, values.detach(), "amax")
    total = torch.zeros_like(highest).index_add(0, owner, torch.exp(values - highest[owner]))
    some = total > 0
    return torch.where(some, highest + torch.log(torch.where(some, total, 1)), -torch.inf)


class LeanSNRDistance(distances.SNRDistance):
    """The library's distance from one product of centred rows, in the place of all differences, [n r d].

    Averages count the distances that are not zero. So those of equal rows are made exactly zero, and those of others,
    which rounding may take below, are not.
    """

    def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        query, item = (rows - rows.mean(1, keepdim=True) for rows in (query_emb, ref_emb))
        signal, other = query.square().sum(1)[:, None], item.square().sum(1)[None, :]
        noise = (signal + other - 2 * query @ item.T).clamp_min(torch.finfo(query.dtype).tiny)
        _, kind = torch.unique(torch.cat([query_emb, ref_emb]).detach(), dim=0, return_inverse=True)
        equal = kind[: len(query), None] == kind[len(query) :]
        return noise.masked_fill(equal, 0) / signal


class StableProxyNCA(losses.ProxyNCALoss):
    """The library's loss, whose softmax comes to zero for a far proxy, and the row is then left out, in logarithms."""

    def nca_computation(
        self,
        query: Tensor,
        reference: Tensor,
        query_labels: Tensor,
        reference_labels: Tensor | None,
        indices_tuple: tuple[Tensor, ...] | None,
    ) -> dict:
        logits = -self.softmax_scale * self.distance(query, reference)
        weights = loss_and_miner_utils.convert_to_weights(
            indices_tuple, query_labels, dtype=query.dtype, using_ref=True
        )
        losses = torch.nn.functional.cross_entropy(logits, query_labels, reduction="none") * weights
        rows = torch.arange(len(query), device=query.device)
        return {"loss": {"losses": losses, "indices": rows, "reduction_type": "element"}}
