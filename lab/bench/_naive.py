"""The rank tensor of all triples, as the released SmoothAP and SupAP build it: what the tiled kernels replace.

O(n^3) time and memory: 512 MB a copy at n = 512 in float32, and several copies.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.surrogates import Surrogate


def smooth_ap(embeddings: Tensor, labels: Tensor, step: Surrogate) -> Tensor:
    """1 - soft AP with every rank of every item (Brown et al., 2020), the query left out, []."""
    n = len(embeddings)
    similarities = embeddings @ embeddings.T
    eye = torch.eye(n, dtype=torch.bool)
    positive = (labels[:, None] == labels) & ~eye
    counted = ~eye[None] & ~eye[:, None]  # [query, ranked item, other item]: other is neither the query nor the item
    above = step(similarities[:, None, :] - similarities[:, :, None]) * counted
    rank = 1 + above.sum(2)
    rank_among_positives = 1 + (above * positive[:, None]).sum(2)
    precision = (rank_among_positives / rank * positive).sum(1) / positive.sum(1)
    return 1 - precision.mean()
