"""OPIS: how much classes disagree about one threshold (Zhang et al., 2024)."""

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

    Sensitivity is the share of the pairs of the class that lie within d, specificity the share of its pairs with other
    classes that do not. The thresholds are those at which the false accept rate of all pairs lies from `low` to `high`,
    evenly spaced in the distance, as the paper integrates over it: 0.002 between unit vectors. Classes without a pair
    count nowhere. 0: one threshold serves all classes alike. NaN where fewer than two classes have a pair, or where no
    threshold has such a false accept rate, as with vectors that are all equal or with few pairs. A pair of which an
    image has no class counts nowhere, also where such images are distractors.

    The formula and the range are those of Zhang et al., "Threshold-Consistent Margin Loss for Open-World Deep Metric
    Learning" (ICLR 2024), as later work restates them; distances are taken between unit vectors, which the restatement
    does, too. The paper's epsilon-OPIS, of the best and the worst classes, is not computed.

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
            evidence = replace(evidence, ranking=replace(evidence.ranking, left_out=unknown)).of_labelled()
        ranking = evidence.ranking
        if ranking.positive_grades is not None:
            raise ValueError("opis compares classes, and these queries have judged images instead; leave it out.")
        _, groups = np.unique(ranking.query_labels, return_inverse=True)
        counts = count_pairs(evidence.query, evidence.gallery, evidence.similarity, ranking.self_index, groups)
        value = inconsistency(counts, self.knobs.low, self.knobs.high)
        return Measurement({"OPIS": value}, excluded=int((ranking.num_positives == 0).sum()))


def inconsistency(counts: PairCounts, low: float, high: float) -> float:
    """OPIS of pairs that are counted by class, over the thresholds of a range of false accept rates."""
    within = (counts.far >= low) & (counts.far <= high)
    served = utilities(counts.same, counts.other)[:, within]
    return float(np.square(served - served.mean(0)).mean()) if within.any() and len(served) > 1 else float("nan")


def utilities(same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """float64 [c t]: harmonic mean of sensitivity and specificity of each class that has pairs of both kinds.

    Args:
        same, other: int64 [r t], pairs that each threshold lets through, all of them at the first.
    """
    known = (same[:, 0] > 0) & (other[:, 0] > 0)
    sensitivity = same[known] / same[known, :1]
    specificity = 1 - other[known] / other[known, :1]
    both = sensitivity + specificity
    return np.divide(2 * sensitivity * specificity, both, out=np.zeros_like(both), where=both > 0)
