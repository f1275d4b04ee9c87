"""SmoothAP (Brown et al., 2020; eq. 5 and 6 there): average precision with a sigmoid in the place of every step.

For query q, with gaps s_qz - s_qx between another item z and the positive x,

    rank+(x) = 1 + sum over positives z of sigma(gap / tau)
    rank(x)  = 1 + sum over all items z of sigma(gap / tau)
    loss     = 1 - mean over positives x of rank+(x) / rank(x)

then the mean over queries. The paper's positives are the other examples of the class; the released code also keeps the
query among the items and among its own positives, where it ranks first and lowers the loss. (pytorch-metric-learning's
SmoothAPLoss is a third thing unless the number of classes equals the number of examples a class.)

Time O(n r d + p r) for p positive pairs; no similarity matrix is kept.
"""

from __future__ import annotations

from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._ranks import Ranked, ranked
from lab.surrogates import Sigmoid, Surrogate


def smooth_ap_values(positives: Ranked, step: Surrogate) -> Tensor:
    """Compute 1 - soft AP for each query, [n]."""
    # The positives come first: backward runs in reverse order, and the memory of the tiles is free again by then.
    among_positives = positives.positives_above(step)
    negatives = positives.negatives_above(step)
    return positives.mean(negatives / (1 + among_positives + negatives))


class SmoothAP(RankingKnobs, Loss):
    """1 - average precision with sigmoid ranks (Brown et al., 2020). Range [0, 1), lower is better.

    When to use: to train for average precision with the plainest of the ranking losses. A batch needs at least two
    images per class; the larger the batch, the closer it is to the AP of the whole set.

    Relations: `sup_ap` counts positives by a hard step and negatives by a function that keeps the loss an upper bound
    on 1 - AP. `recall_at_k` uses the same sigmoid ranks for recall. pytorch-metric-learning's SmoothAPLoss differs, see
    above.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("smooth_ap", tau=0.02)
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.5000, 0.5000, 0.0000])
    """

    family = "ranking"
    temperatures = {"tau": 0.1}
    peak = Peak(3.6, tiles=0.75, besides=2 << 20)
    with_self = ("released",)

    tau: float = knob(
        "Temperature of the sigmoid.",
        default=0.01,
        gt=0,
        scale="log",
        unit="cosine",
        source="Brown et al. 2020, eq. 5",
    )

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        released = knobs.variant == "released"
        step = Sigmoid(knobs.tau, clamp=50.0 if released else None)
        return smooth_ap_values(ranked(batch, self.ranks_itself, self_is_positive=True), step)
