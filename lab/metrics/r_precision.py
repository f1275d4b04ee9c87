"""R-precision: precision among the first R, R being the number of positives (deck 002)."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def precision_at_r(ranks: PositiveRanks) -> np.ndarray:
    """float64 [q]: positives among the first R, over R; NaN for a query without positives."""
    within = ranks.rank <= ranks.total[ranks.owner]
    return ranks.share(ranks.sum(within), ranks.total)


class RPrecision(Metric):
    """Positives among the first R over R, where the query has R positives; mean over queries. Column `R-precision`.

    Equal scores are ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("r_precision")(evidence)
        >>> measured.per_query["R-precision"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        return measurement({"R-precision": precision_at_r(positive_ranks(evidence.ranking))})
