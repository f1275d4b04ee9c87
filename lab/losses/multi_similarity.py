"""Multi-similarity loss (Wang et al., 2019), with its miner.

For query a, over its mined positives and negatives,

    1/alpha log(1 + sum exp(-alpha (s - base)))   +   1/beta log(1 + sum exp(beta (s - base)))

then the mean over all queries. The miner keeps positives below the hardest negative plus epsilon, and negatives above
the hardest positive minus epsilon. O(n r d) time; no similarity matrix is
kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.losses._pairs import PairLoss, Pairs, log_sum_exp


class MultiSimilarity(PairLoss):
    """Soft maximum over hard positives and hard negatives (Wang et al., 2019). Not negative, lower is better.

    Pairs that a trainer's miner passes are used as they are.

    When to use: a strong pair loss that weights hard pairs most. A batch needs at least two images per class.

    Relations: `contrastive` weights all violating pairs alike; `nt_xent` compares each positive pair with all negatives
    of its query.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("multi_similarity")
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.6790, 0.6790, 0.0000])
    """

    family = "pair"

    alpha: float = knob(
        "Sharpness of the weighting of positives.",
        default=2.0,
        gt=0,
        scale="log",
        source="Wang et al. 2019, eq. 15",
    )
    beta: float = knob(
        "Sharpness of the weighting of negatives.",
        default=50.0,
        gt=0,
        scale="log",
        source="Wang et al. 2019, eq. 15",
    )
    base: float = knob(
        "Similarity threshold between positives and negatives.",
        default=0.5,
        ge=-1,
        le=1,
        unit="cosine",
    )
    miner: bool = knob(
        "Keep only pairs that are hard for their query.",
        default=True,
        source="Wang et al. 2019, eq. 13",
    )
    epsilon: float = knob(
        "Tolerance of the miner.",
        default=0.1,
        ge=0,
        le=2,
        unit="cosine",
        source="Wang et al. 2019, eq. 13",
    )

    @property
    def learns_from_negatives(self) -> bool:
        return not self.knobs.miner

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        knobs = self.knobs
        positives = pairs.positives != 0  # a pair counts once, however often it was mined
        negatives = pairs.negatives != 0
        if knobs.miner and pairs.batch.mined is None:
            positives, negatives = _hard(similarities.detach(), positives, negatives, knobs.epsilon)
        pull = log_sum_exp(knobs.alpha * (knobs.base - similarities), positives)
        push = log_sum_exp(knobs.beta * (similarities - knobs.base), negatives)
        zero = torch.zeros_like(pull)
        values = (
            torch.logaddexp(pull, zero) / knobs.alpha + torch.logaddexp(push, zero) / knobs.beta
        )
        return values[:, None], torch.ones_like(values)[:, None]


def _hard(
    similarities: Tensor, positives: Tensor, negatives: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Keep positives that no longer lead the hardest negative by epsilon, and negatives alike, bool [b r] each."""
    nearest_negative = similarities.masked_fill(~negatives, -torch.inf).amax(1, keepdim=True)
    farthest_positive = similarities.masked_fill(~positives, torch.inf).amin(1, keepdim=True)
    hard_positives = positives & (similarities - epsilon < nearest_negative)
    hard_negatives = negatives & (similarities + epsilon > farthest_positive)
    return hard_positives, hard_negatives
