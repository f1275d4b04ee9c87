"""R-precision: precision among the first R, R being the number of positives (deck 002)."""

from __future__ import annotations

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class RPrecision(Metric):
    """Positives among the first R over R, where the query has R positives; mean over queries. Column `R-precision`.

    Equal scores stand in the order that the search gave them (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("r_precision")(evidence)
        >>> measured.per_query["R-precision"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        within = ranks.rank <= ranks.total[ranks.owner]
        return measurement({"R-precision": ranks.share(ranks.sum(within), ranks.total)})
