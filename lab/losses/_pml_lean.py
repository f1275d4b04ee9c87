"""Parts of pytorch-metric-learning, rewritten to need less memory or to be exact."""

from __future__ import annotations

import torch
from pytorch_metric_learning import distances, losses
from pytorch_metric_learning.utils import loss_and_miner_utils
from torch import Tensor


class LeanNTXent(losses.NTXentLoss):
    """NT-Xent with one sum of negatives per query; the library holds a row of all negatives for each positive pair."""

    def _compute_loss(self, pos_pairs: Tensor, neg_pairs: Tensor, indices_tuple: tuple[Tensor, ...]) -> dict:
        anchors, positives, negative_anchors, _ = indices_tuple
        if not (len(anchors) and len(negative_anchors)):
            return self.zero_losses()
        queries = int(torch.cat([anchors, negative_anchors]).max()) + 1
        negatives = log_sum_exp_per_query(neg_pairs / self.temperature, negative_anchors, queries)
        gap = negatives[anchors] - pos_pairs / self.temperature
        losses = torch.logaddexp(gap, torch.zeros_like(gap))
        return {"loss": {"losses": losses, "indices": (anchors, positives), "reduction_type": "pos_pair"}}


def log_sum_exp_per_query(values: Tensor, owner: Tensor, queries: int) -> Tensor:
    """Compute the log of the sum of exp over the entries of each query, [n] from [p]; -inf for a query without any.

    owner: int64 [p], the query of each entry.
    """
    # Subtract each query's largest entry before exp, so that nothing overflows.
    lowest = torch.full_like(values[:1], -torch.inf).expand(queries)
    highest = lowest.scatter_reduce(0, owner, values.detach(), "amax")
    total = torch.zeros_like(highest).index_add(0, owner, torch.exp(values - highest[owner]))
    has_entries = total > 0
    return torch.where(has_entries, highest + torch.log(torch.where(has_entries, total, 1)), -torch.inf)


class LeanSNRDistance(distances.SNRDistance):
    """The signal-to-noise distance from one matrix product of centred rows; the library holds all differences, [n r d].

    The library averages over the distances that are not zero. Therefore the distances of equal rows are set to exactly
    zero, and those of different rows are kept above zero, below which rounding may take them.
    """

    def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        queries = query_emb - query_emb.mean(1, keepdim=True)
        items = ref_emb - ref_emb.mean(1, keepdim=True)
        query_energy = queries.square().sum(1)[:, None]
        item_energy = items.square().sum(1)[None, :]
        noise = (query_energy + item_energy - 2 * queries @ items.T).clamp_min(torch.finfo(queries.dtype).tiny)

        # Number the distinct rows, to find the pairs of equal ones.
        _, number = torch.unique(torch.cat([query_emb, ref_emb]).detach(), dim=0, return_inverse=True)
        equal = number[: len(queries), None] == number[len(queries) :]
        return noise.masked_fill(equal, 0) / query_energy


class StableProxyNCA(losses.ProxyNCALoss):
    """ProxyNCA in logarithms. The library's softmax underflows to zero for a far proxy, and it then drops the row."""

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
