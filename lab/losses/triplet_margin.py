"""Triplet margin loss (Schroff et al., 2015).

On Euclidean distances of unit rows: mean of [d(a, p) - d(a, n) + margin]+ over the triplets where it is not zero.
O(p r + n r d) time for p positive pairs, and no matrix is kept, except by `swap`, which also compares positives with
negatives. `triplets_per_anchor` draws some triplets instead, and so does the miner of Wu et al. (2017), with which 004
runs it: as many triplets a query as its class has members, each with a positive drawn evenly and a negative drawn as
1 / q(d), the density of distances between random points of the sphere,

    q(d) = d^(w - 2) (1 - d^2 / 4)^((w - 3) / 2) for width w

where distances below 0.5 count as 0.5, so that a few near negatives are not drawn every time, and negatives beyond 1.4
are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from lab.core.catalog import name_of
from lab.core.explain import need
from lab.core.knobs import MOST_ITEMS, knob
from lab.losses._base import normalised
from lab.losses._batch import Batch, references
from lab.losses._pairs import Pairs, distances, entries, slots
from lab.losses._triplets import TripletLoss, Triplets, every_triplet, summed_by_query


class TripletMargin(TripletLoss):
    """A positive should be nearer than a negative by a margin. Not negative, lower is better.

    When to use: the classical triplet loss, as a baseline. A batch needs at least two images per class. Time grows with
    the number of images of a class; `triplets_per_anchor` or the miner bounds it.

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
        "Margin by which positives must be nearer than negatives.",
        default=0.05,
        ge=0,
        le=2,
        unit="distance",
    )
    swap: bool = knob(
        "Use the distance from positive to negative where it is smaller.", default=False
    )
    smooth: bool = knob("Use log(1 + exp) instead of the hinge.", default=False)
    triplets_per_anchor: int | None = knob(
        "Random triplets for each anchor; none: every triplet.", default=None, ge=1, le=MOST_ITEMS
    )
    miner: Literal["none", "distance_weighted"] = knob(
        "How triplets are drawn: all, or triplets_per_anchor, evenly; or with negatives of all distances alike.",
        default="none",
        source="Wu et al. 2017, section 4",
    )

    def __post_init__(self) -> None:
        if self.knobs.miner != "none":
            need(f"The miner of {name_of(type(self))}", "train", "pytorch_metric_learning")

    @property
    def by_blocks(self) -> bool:
        return not self.knobs.swap

    def drawn(self, batch: Batch) -> Triplets | None:
        if self.knobs.miner == "distance_weighted":
            return _distance_weighted(batch)
        if self.knobs.swap and self.knobs.triplets_per_anchor is None:
            return every_triplet(batch)
        return super().drawn(batch)

    def _with_drawn(self, batch: Batch) -> Batch:
        if not self.knobs.swap:
            return super()._with_drawn(batch)
        if batch.items is not batch.queries:
            raise ValueError(
                "TripletMargin: swap compares positives with negatives and takes no ref_emb or memory; set swap=False."
            )
        mined = self.drawn(normalised(batch)) if batch.mined is None else every_triplet(batch)
        return replace(batch, mined=mined)

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Walk through the positives of each query, from its first to its last, and compare each with all negatives."""
        apart = distances(similarities, pairs.batch, pairs.rows)
        totals = []
        counts = []
        query, item, _ = entries(pairs.positives)
        for positive, there in slots(query, item, len(apart)):
            weights = pairs.positives.gather(1, positive[:, None])[:, 0] * there
            losses = self._of_gaps(apart.gather(1, positive[:, None]) - apart)
            weights_of_triplets = weights[:, None] * pairs.negatives
            totals.append((losses * weights_of_triplets).sum(1))
            counts.append(((losses > 0) * weights_of_triplets).sum(1))
        if not totals:
            nothing = apart.sum(1, keepdim=True) * 0
            return nothing, nothing.detach()
        return torch.stack(totals).sum(0)[:, None], torch.stack(counts).sum(0)[:, None].to(apart)

    def terms_of_triplets(
        self, apart: Tensor, triplets: Triplets, rows: slice, batch: Batch
    ) -> tuple[Tensor, Tensor]:
        query, positive, negative = triplets
        to_negative = apart[query, negative]
        # the rows are the whole batch, so there are distances from every positive
        if self.knobs.swap:
            to_negative = torch.minimum(to_negative, apart[positive, negative])
        losses = self._of_gaps(apart[query, positive] - to_negative)
        total = summed_by_query(losses, query, len(apart))
        count = summed_by_query((losses > 0).to(losses), query, len(apart))
        return total[:, None], count[:, None]

    def _of_gaps(self, gaps: Tensor) -> Tensor:
        """Compute the loss of triplets from the distance of the positive minus that of the negative."""
        violations = gaps + self.knobs.margin
        return (
            torch.nn.functional.softplus(violations)
            if self.knobs.smooth
            else violations.clamp_min(0)
        )


def _distance_weighted(batch: Batch) -> Triplets:
    """Draw triplets by the library's miner, and drop those that pair a query with itself."""
    from pytorch_metric_learning import miners

    miner = miners.DistanceWeightedMiner()
    anchors, positives, negatives = miner(batch.queries, batch.query_labels, *references(batch))
    others = ~batch.itself[anchors, positives]
    return anchors[others], positives[others], negatives[others]
