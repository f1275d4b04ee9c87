"""ROADMAP (001, eq. 2): (1 - lambda) SupAP + lambda calibration.

SupAP ranks within the batch; calibration makes the scores of different batches comparable, so that a right ranking of
each batch is a right ranking of the whole set. The released code adds the two parts instead of weighting them, with
SupAP's offset at 1.44 and the contrastive form of the calibration; `lam` then has no effect. Scores are cosines; the
formula printed in section 3 divides by squared lengths, which would not give cosines. Time and memory are those of the
two parts.
"""

from __future__ import annotations

from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._ranks import Excess
from lab.losses.calibration import Calibration, CalibrationKnobs
from lab.losses.sup_ap import HMinusKnobs, SupAP, sup_ap_values


class Roadmap(CalibrationKnobs, HMinusKnobs, RankingKnobs, Loss):
    """Robust and decomposable average precision (ROADMAP, eq. 2). Not negative, lower is better.

    `include_self` concerns the SupAP part alone; the calibration part never counts a query's similarity to itself. With
    singletons the means of the two parts therefore run over different queries; `per_query` is NaN for singletons.

    When to use: to train for average precision when a batch holds only a small part of the set, so that scores must
    also be comparable between batches. A batch needs at least two images per class.

    Relations: lam=0 is `sup_ap`, lam=1 is `calibration` (variant "paper").

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("roadmap", lam=0.5)
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0500, 0.3600, 0.3600, 0.0500])
    """

    family = "ranking"
    temperatures = {"tau": 0.1}
    peak = Peak(3.6, tiles=0.75, besides=2 << 20)
    mean_of_queries = False
    with_self = ("paper", "released")

    lam: float = knob(
        "Weight of the calibration loss; SupAP has the rest.",
        default=0.5,
        ge=0,
        le=1,
        source="ROADMAP, eq. 2",
    )

    def __post_init__(self) -> None:
        knobs = self.knobs
        self.sup_ap = SupAP(**knobs.model_dump(exclude={"lam", "alpha", "beta"}))
        self.calibration = Calibration(variant=knobs.variant, alpha=knobs.alpha, beta=knobs.beta)

    def values(self, batch: Batch) -> Tensor:
        similarities = self.calibration.similarities(batch)
        ranking, excess = self._walk(batch)
        return self._mix(ranking, self.calibration.values_with(batch, similarities, excess))

    def total(self, batch: Batch) -> Tensor:
        similarities = self.calibration.similarities(batch)
        ranking, excess = self._walk(batch)
        return self._mix(
            ranking.nanmean(), self.calibration.total_with(batch, similarities, excess)
        )

    def _walk(self, batch: Batch) -> tuple[Tensor, Excess]:
        """Compute SupAP's values, [n], and the excess of the negatives, from one pass over the similarities."""
        positives = self.sup_ap.ranked(batch)
        above, excess = positives.negatives_above_and_excess(self.sup_ap.step, self.knobs.beta)
        return sup_ap_values(positives, above), excess

    def _mix(self, ranking: Tensor, calibration: Tensor) -> Tensor:
        if self.knobs.variant == "released":
            return ranking + calibration
        return (1 - self.knobs.lam) * ranking + self.knobs.lam * calibration
