"""Margin loss (Wu et al., 2017).

On Euclidean distances of unit rows, over triplets: [d(a, p) - beta + margin]+ + [beta - d(a, n) + margin]+, summed and
divided by the number of terms that are not zero; beta, the boundary, may be learnt, also one for each class. O(n r d)
time, and no similarity matrix is kept unless beta is learnt; `triplets_per_anchor` draws some triplets instead of all.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.core.knobs import MOST_ITEMS, knob
from lab.losses._batch import Batch
from lab.losses._pairs import Pairs, distances
from lab.losses._triplets import TripletLoss, Triplets, summed_by_query


class Margin(TripletLoss):
    """Positives inside a boundary, negatives outside, each by a margin. Lower is better.

    When to use: as `triplet_margin`, where one boundary between near and far should hold for all queries, or one per
    class. A batch needs at least two images per class.

    Relations: replaces `triplet_margin` in Wu et al. (2017), there with its distance-weighted miner.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("margin", margin=0.2, beta=1.0)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.509
    """

    family = "triplet"

    margin: float = knob(
        "Margin to keep from the boundary.", default=0.2, ge=0, le=2, unit="distance"
    )
    beta: float = knob(
        "Boundary between positive and negative distances (beta).",
        default=1.2,
        ge=0,
        le=2,
        unit="distance",
        source="Wu et al. 2017, eq. 5",
    )
    learn_beta: bool = knob("Learn the boundary.", default=False, source="Wu et al. 2017, eq. 6")
    boundaries: int | None = knob(
        "Number of classes, each with a boundary of its own; none: one boundary for all.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
        source="Wu et al. 2017, eq. 6",
    )
    nu: float = knob(
        "Weight of the boundary's regularisation when the boundary is learnt.", default=0.0, ge=0
    )
    triplets_per_anchor: int | None = knob(
        "Random triplets for each anchor; none: every triplet.", default=None, ge=1, le=MOST_ITEMS
    )

    def __post_init__(self) -> None:
        beta = torch.full((self.knobs.boundaries or 1,), float(self.knobs.beta))
        if self.knobs.learn_beta:
            self.boundary = nn.Parameter(beta)
        else:
            self.register_buffer("boundary", beta, persistent=False)

    @property
    def by_blocks(self) -> bool:
        return not self.knobs.learn_beta

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Each pair stands in as many triplets as its query has pairs of the other kind."""
        batch = pairs.batch
        apart = distances(similarities, batch, pairs.rows)
        boundaries = self._boundaries(batch.query_labels[pairs.rows], apart)
        too_far = (apart - boundaries[:, None] + self.knobs.margin).clamp_min(0)
        too_near = (boundaries[:, None] - apart + self.knobs.margin).clamp_min(0)
        positives = pairs.positives.sum(1).to(apart)
        negatives = pairs.negatives.sum(1).to(apart)
        far = (too_far * pairs.positives).sum(1) * negatives
        near = (too_near * pairs.negatives).sum(1) * positives
        far_count = ((too_far > 0) * pairs.positives).sum(1) * negatives
        near_count = ((too_near > 0) * pairs.negatives).sum(1) * positives
        return self._with_regulariser(
            far + near, far_count + near_count, positives * negatives, boundaries
        )

    def terms_of_triplets(
        self, apart: Tensor, triplets: Triplets, rows: slice, batch: Batch
    ) -> tuple[Tensor, Tensor]:
        query, positive, negative = triplets
        boundaries = self._boundaries(batch.query_labels[rows], apart)
        too_far = (apart[query, positive] - boundaries[query] + self.knobs.margin).clamp_min(0)
        too_near = (boundaries[query] - apart[query, negative] + self.knobs.margin).clamp_min(0)
        values = summed_by_query(too_far + too_near, query, len(apart))
        terms = (too_far > 0).to(apart) + (too_near > 0).to(apart)
        counts = summed_by_query(terms, query, len(apart))
        triplet_counts = summed_by_query(torch.ones_like(terms), query, len(apart))
        return self._with_regulariser(values, counts, triplet_counts, boundaries)

    def _boundaries(self, labels: Tensor, like: Tensor) -> Tensor:
        """Return the boundary of each query, [b]."""
        beta = self.boundary.to(like)
        return beta.expand(len(labels)) if len(beta) == 1 else beta[labels]

    def _with_regulariser(
        self, values: Tensor, counts: Tensor, triplets: Tensor, boundaries: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return values and counts, [b 1], to which a boundary for each class adds nu times itself a triplet, [b 2]."""
        if not self.knobs.learn_beta or len(self.boundary) == 1:
            return values[:, None], counts[:, None]
        regulariser = self.knobs.nu * boundaries * triplets
        return torch.stack([values, regulariser], 1), torch.stack([counts, counts], 1)

    def _regulariser(self) -> Tensor | float:
        """Return nu times the boundary that all classes share; 0 where it is not learnt."""
        learns_one = self.knobs.learn_beta and len(self.boundary) == 1
        return self.knobs.nu * self.boundary[0] if learns_one else 0.0

    def total(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().total(batch) + self._regulariser()

    def values(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().values(batch) + self._regulariser()

    def _check_boundaries(self, batch: Batch) -> None:
        """Raise ValueError if a label has no boundary."""
        count = self.knobs.boundaries
        if count is None:
            return
        low = int(batch.query_labels.min())
        high = int(batch.query_labels.max())
        if low < 0 or high >= count:
            raise ValueError(
                f"Margin: with {count} boundaries labels must run from 0 to {count - 1}, got {low} to {high}; set "
                "boundaries to the number of training classes."
            )
