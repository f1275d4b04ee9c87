"""MAP@R: average precision over the first R, R being the number of positives (deck 002)."""

from __future__ import annotations

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class MapAtR(Metric):
    """Sum of the precisions at the positives among the first R, over R; mean over queries. Column `MAP@R`.

    Equal scores stand in the order that the search gave them (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("map_at_r")(evidence)
        >>> measured.per_query["MAP@R"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        within = ranks.rank <= ranks.total[ranks.owner]
        return measurement({"MAP@R": ranks.share(ranks.sum(ranks.precision * within), ranks.total)})
