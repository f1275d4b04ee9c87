"""Multi-similarity loss (Wang et al., 2019), from pytorch-metric-learning, with its miner.

For query a, over its mined positives and negatives,

    1/alpha log(1 + sum exp(-alpha (s - base)))   +   1/beta log(1 + sum exp(beta (s - base)))

then the mean over all queries. The miner keeps positives below the hardest negative plus epsilon, and negatives above
the hardest positive minus epsilon. O(n r log r) time, O(n r) memory.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lab.core.knobs import knob
from lab.losses._batch import Batch
from lab.losses._pml import PmlLoss, references


class MultiSimilarity(PmlLoss):
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
        "Sharpness of the weighting of positives.", default=2.0, gt=0, scale="log", source="Wang et al. 2019, eq. 15"
    )
    beta: float = knob(
        "Sharpness of the weighting of negatives.", default=50.0, gt=0, scale="log", source="Wang et al. 2019, eq. 15"
    )
    base: float = knob("Similarity threshold between positives and negatives.", default=0.5, ge=-1, le=1, unit="cosine")
    miner: bool = knob(
        "Keep only pairs that are hard for their query.", default=True, source="Wang et al. 2019, eq. 13"
    )
    epsilon: float = knob(
        "Tolerance of the miner.", default=0.1, ge=0, le=2, unit="cosine", source="Wang et al. 2019, eq. 13"
    )

    @property
    def learns_from_negatives(self) -> bool:
        return not self.knobs.miner

    @property
    def pairs_add_up(self) -> bool:
        return not self.knobs.miner

    def build(self, library: Any) -> Any:
        return library.MultiSimilarityLoss(alpha=self.alpha, beta=self.beta, base=self.base)

    def pairs(self, batch: Batch) -> tuple[Tensor, ...] | None:
        if batch.mined is not None or not self.knobs.miner:
            return super().pairs(batch)
        return _hard_pairs(batch, self.knobs.epsilon)


def _hard_pairs(batch: Batch, epsilon: float) -> tuple[Tensor, ...]:
    """Mine hard pairs by the library's miner, and drop the pairs of a query with itself."""
    from pytorch_metric_learning import miners

    miner = miners.MultiSimilarityMiner(epsilon=epsilon)
    a1, p, a2, n = miner(batch.queries, batch.query_labels, *references(batch))
    others = ~batch.itself[a1, p]
    return a1[others], p[others], a2, n
