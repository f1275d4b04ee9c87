"""NT-Xent, cross-entropy of similarities (Sohn, 2016; Chen et al., 2020), as in pytorch-metric-learning.

For each positive pair (a, p), -log of exp(s_ap / t) over itself plus the sum of exp(s_an / t) over the negatives of a;
the mean over positive pairs. O(n r d) time; no similarity matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.losses._pairs import PairLoss, Pairs, entries, log_sum_exp


class NTXent(PairLoss):
    """Softmax of each positive against the query's negatives. Not negative, lower is better.

    When to use: for self-supervised or weakly supervised pairs, and as a baseline of classification within the batch. A
    batch needs at least two images per class, and many classes.

    Relations: also known as InfoNCE. `multi_similarity` sums over the positives inside the logarithm.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("nt_xent", temperature=0.1)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.967
    """

    family = "pair"
    temperatures = {"temperature": 0.1}

    temperature: float = knob(
        "Temperature of the softmax.", default=0.07, gt=0, scale="log", unit="cosine"
    )

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        logits = similarities / self.knobs.temperature
        negatives = log_sum_exp(logits, pairs.negatives)
        query, item, weights = entries(pairs.positives)
        values = torch.nn.functional.softplus(negatives[query] - logits[query, item]) * weights
        per_query = torch.zeros_like(negatives).index_add(0, query, values)
        return per_query[:, None], pairs.positives.sum(1, keepdim=True).to(values)
