"""OPIS: how unequally one threshold serves the classes (Zhang et al., 2024)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lab.core.knobs import knob
from lab.core.results import Evidence, Measurement, labelled
from lab.metrics._base import Metric

if TYPE_CHECKING:
    from lab.kernels.pair_counts import PairCounts


class Opis(Metric):
    """Operating-Point-Inconsistency Score: variance over classes of how well one threshold serves each. Column `OPIS`.

        U_c(d) = harmonic mean of sensitivity and specificity of class c at the distance d
        OPIS   = mean over thresholds d and classes c of (U_c(d) - mean over classes of U(d))^2

    Sensitivity is the share of the pairs of the class within distance d; specificity is the share of its pairs with
    other classes beyond d. The thresholds are those at which the false accept rate of all pairs is between `low` and
    `high`; they are evenly spaced in the distance, as the paper integrates over it, by 0.002 between unit vectors.
    Classes without a pair are ignored. A value of 0 means that one threshold serves all classes alike. The value is NaN
    if fewer than two classes have a pair, or if no threshold has such a false accept rate (all vectors are equal, or
    there are few pairs). A pair with an image without a class is ignored, also if such images are distractors.

    The formula and the range are those of Zhang et al., "Threshold-Consistent Margin Loss for Open-World Deep Metric
    Learning" (ICLR 2024), as later work restates them; as there, distances are between unit vectors. The paper's
    epsilon-OPIS, of the best and the worst classes, is not computed.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("opis", low=0.1, high=0.9)(evidence)
        >>> round(measured.values["OPIS"], 3)
        0.004
    """

    higher_is_better = False
    bounds = (0.0, 0.25)
    needs = "embeddings"
    reads_gallery = True

    low: float = knob("Least false accept rate of the thresholds.", default=0.01, ge=0, le=1)
    high: float = knob("Greatest false accept rate of the thresholds.", default=0.1, ge=0, le=1)

    def __post_init__(self) -> None:
        if self.knobs.low > self.knobs.high:
            raise ValueError(f"low must be at most high, {self.knobs.high}, got {self.knobs.low}.")

    def __call__(self, evidence: Evidence) -> Measurement:
        from lab.kernels.pair_counts import count_pairs

        unknown = int((~labelled(evidence.gallery.labels)).sum())
        if unknown and evidence.ranking.positive_grades is None:
            evidence = replace(
                evidence, ranking=replace(evidence.ranking, left_out=unknown)
            ).of_labelled()
        ranking = evidence.ranking
        if ranking.positive_grades is not None:
            raise ValueError(
                "opis compares classes, and these queries have judged images instead; leave it out."
            )
        _, groups = np.unique(ranking.query_labels, return_inverse=True)
        counts = count_pairs(
            evidence.query, evidence.gallery, evidence.similarity, ranking.self_index, groups
        )
        value = inconsistency(counts, self.knobs.low, self.knobs.high)
        return Measurement({"OPIS": value}, excluded=int((ranking.num_positives == 0).sum()))


def inconsistency(counts: PairCounts, low: float, high: float) -> float:
    """Compute OPIS from pairs counted by class, over the thresholds within a range of false accept rates."""
    within = (counts.far >= low) & (counts.far <= high)
    utility = utilities(counts.same, counts.other)[:, within]
    if not within.any() or len(utility) < 2:
        return float("nan")
    return float(np.square(utility - utility.mean(0)).mean())


def utilities(same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """float64 [c t]: harmonic mean of sensitivity and specificity of each class that has pairs of both kinds.

    Args:
        same, other: int64 [r t], number of accepted pairs at each threshold; the first threshold accepts all pairs.
    """
    has_pairs = (same[:, 0] > 0) & (other[:, 0] > 0)
    sensitivity = same[has_pairs] / same[has_pairs, :1]
    specificity = 1 - other[has_pairs] / other[has_pairs, :1]
    total = sensitivity + specificity
    return np.divide(
        2 * sensitivity * specificity, total, out=np.zeros_like(total), where=total > 0
    )
