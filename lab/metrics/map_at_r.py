"""MAP@R: average precision over the first R, R being the number of positives (deck 002)."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def precision_sum_at_r(ranks: PositiveRanks) -> np.ndarray:
    """float64 [q]: sum of the precisions at the positives among the first R, over R; NaN without positives."""
    within = ranks.rank <= ranks.total[ranks.owner]
    return ranks.share(ranks.sum(ranks.precision * within), ranks.total)


class MapAtR(Metric):
    """Sum of the precisions at the positives among the first R, over R; mean over queries. Column `MAP@R`.

    Equal scores are ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("map_at_r")(evidence)
        >>> measured.per_query["MAP@R"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        return measurement({"MAP@R": precision_sum_at_r(positive_ranks(evidence.ranking))})
