"""Margin loss (Wu et al., 2017), from pytorch-metric-learning.

On Euclidean distances of unit rows, over triplets: [d(a, p) - beta + margin]+ + [beta - d(a, n) + margin]+, summed and
divided by the number of terms that are not zero; beta, the boundary, may be learnt, also one for each class. O(p n)
time and memory with every triplet, for p positive pairs; `triplets_per_anchor` draws some instead.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lab.core.knobs import Knobs, knob
from lab.losses._batch import Batch
from lab.losses._pml import PmlTripletLoss


class Margin(PmlTripletLoss):
    """Positives inside a boundary, negatives outside, each by a margin. Lower is better.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("margin", margin=0.2, beta=1.0)
        >>> round(loss(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        0.509
    """

    family = "triplet"

    class Knobs(Knobs):
        margin: float = knob(0.2, "Margin to keep from the boundary.", ge=0, le=2, unit="distance")
        beta: float = knob(
            1.2,
            "Boundary between positive and negative distances (beta).",
            ge=0,
            le=2,
            unit="distance",
            source="Wu et al. 2017, eq. 5",
        )
        learn_beta: bool = knob(False, "Learn the boundary.", source="Wu et al. 2017, eq. 6")
        boundaries: int | None = knob(
            None,
            "Number of classes, each with a boundary of its own; none: one boundary for all.",
            ge=1,
            source="Wu et al. 2017, eq. 6",
        )
        nu: float = knob(0.0, "Weight of the boundary's regularisation when the boundary is learnt.", ge=0)
        triplets_per_anchor: int | None = knob(None, "Random triplets for each anchor; none: every triplet.", ge=1)

    def build(self, library: Any, knobs: Knobs) -> Any:
        return library.MarginLoss(
            margin=knobs.margin,
            beta=knobs.beta,
            learn_beta=knobs.learn_beta,
            nu=knobs.nu,
            num_classes=knobs.boundaries,
        )

    def total(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().total(batch)

    def values(self, batch: Batch) -> Tensor:
        self._check_boundaries(batch)
        return super().values(batch)

    def _check_boundaries(self, batch: Batch) -> None:
        count, labels = self.knobs.boundaries, batch.query_labels
        if count is not None and (int(labels.min()) < 0 or int(labels.max()) >= count):
            raise ValueError(
                f"Margin: with {count} boundaries labels must run from 0 to {count - 1}, got {int(labels.min())} to "
                f"{int(labels.max())}; set boundaries to the number of training classes."
            )
