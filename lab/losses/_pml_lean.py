"""ProxyNCA of pytorch-metric-learning, rewritten to be exact."""

from __future__ import annotations

import torch
from pytorch_metric_learning import losses
from pytorch_metric_learning.utils import loss_and_miner_utils
from torch import Tensor


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
