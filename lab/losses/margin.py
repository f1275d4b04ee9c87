"""Margin loss (Wu et al., 2017), from pytorch-metric-learning.

On Euclidean distances of unit rows, over triplets: [d(a, p) - beta + margin]+ + [beta - d(a, n) + margin]+, summed and
divided by the number of terms that are not zero; beta, the boundary, may be learnt, also one for each class. O(p n)
time and memory with every triplet, for p positive pairs; `triplets_per_anchor` draws some instead.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lab.core.knobs import MOST_ITEMS, knob
from lab.losses._batch import Batch
from lab.losses._pml import PmlTripletLoss


class Margin(PmlTripletLoss):
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

    margin: float = knob("Margin to keep from the boundary.", default=0.2, ge=0, le=2, unit="distance")
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
    nu: float = knob("Weight of the boundary's regularisation when the boundary is learnt.", default=0.0, ge=0)
    triplets_per_anchor: int | None = knob(
        "Random triplets for each anchor; none: every triplet.", default=None, ge=1, le=MOST_ITEMS
    )

    def build(self, library: Any) -> Any:
        return library.MarginLoss(
            margin=self.margin,
            beta=self.beta,
            learn_beta=self.learn_beta,
            nu=self.nu,
            num_classes=self.boundaries,
        )

    def total(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().total(batch)

    def values(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().values(batch)

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
