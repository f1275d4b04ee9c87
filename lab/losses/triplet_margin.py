"""Triplet margin loss (Schroff et al., 2015), from pytorch-metric-learning.

On Euclidean distances of unit rows: mean of [d(a, p) - d(a, n) + margin]+ over the triplets where it is not zero.
O(p n) time and memory with every triplet, for p positive pairs; `triplets_per_anchor` draws some instead, and so does
the miner of Wu et al. (2017), with which 004 runs it: as many triplets a query as its class has members, each with a
positive drawn evenly and a negative drawn as 1 / q(d), the density of distances between random points of the sphere,

    q(d) = d^(w - 2) (1 - d^2 / 4)^((w - 3) / 2) for width w

where distances below 0.5 count as 0.5, so that a few near negatives are not drawn every time, and negatives beyond 1.4
are left out.
"""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from lab.core.knobs import MOST_ITEMS, knob
from lab.losses._batch import Batch
from lab.losses._pml import PmlTripletLoss, references


class TripletMargin(PmlTripletLoss):
    """A positive should be nearer than a negative by a margin. Not negative, lower is better.

    When to use: the classical triplet loss, as a baseline. A batch needs at least two images per class; large batches
    need `triplets_per_anchor` or the miner.

    Relations: `margin` compares positives and negatives with a boundary instead of with each other.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("triplet_margin", margin=0.1)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.45
    """

    family = "triplet"

    margin: float = knob(
        "Margin by which positives must be nearer than negatives.", default=0.05, ge=0, le=2, unit="distance"
    )
    swap: bool = knob("Use the distance from positive to negative where it is smaller.", default=False)
    smooth: bool = knob("Use log(1 + exp) instead of the hinge.", default=False)
    triplets_per_anchor: int | None = knob(
        "Random triplets for each anchor; none: every triplet.", default=None, ge=1, le=MOST_ITEMS
    )
    miner: Literal["none", "distance_weighted"] = knob(
        "How triplets are drawn: all, or triplets_per_anchor, evenly; or with negatives of all distances alike.",
        default="none",
        source="Wu et al. 2017, section 4",
    )

    def pairs(self, batch: Batch) -> tuple[Tensor, ...]:
        if self.knobs.swap and batch.items is not batch.queries:
            raise ValueError(
                "TripletMargin: swap compares positives with negatives and takes no ref_emb or memory; set swap=False."
            )
        if batch.mined is not None or self.knobs.miner == "none":
            return super().pairs(batch)
        return _distance_weighted(batch)

    def build(self, library: Any) -> Any:
        return library.TripletMarginLoss(
            margin=self.margin,
            swap=self.swap,
            smooth_loss=self.smooth,
        )


def _distance_weighted(batch: Batch) -> tuple[Tensor, ...]:
    """Draw triplets by the library's miner, and drop those that pair a query with itself."""
    from pytorch_metric_learning import miners

    miner = miners.DistanceWeightedMiner()
    anchors, positives, negatives = miner(batch.queries, batch.query_labels, *references(batch))
    others = ~batch.itself[anchors, positives]
    return anchors[others], positives[others], negatives[others]
