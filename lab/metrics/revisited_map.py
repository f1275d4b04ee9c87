"""mAP of Revisited Oxford and Paris: trapezoids under the precision-recall curve, junk taken out."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import knob
from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, Protocol, measurement, positive_ranks


def trapezoid_precision(rank: np.ndarray, place: np.ndarray) -> np.ndarray:
    """float64 [p]: mean of the precisions just before and at each positive; 0 for one that was never retrieved.

    Args:
        rank: int64 [p], 1-based ranks. Before the very first item precision counts as 1.
        place: int64 [p], 1-based places among the query's positives.
    """
    before = np.where(rank == 1, 1.0, (place - 1) / np.maximum(rank - 1, 1))
    return np.where(rank == UNRANKED, 0.0, (before + place / rank) / 2)


class RevisitedMap(Metric):
    """Area under the precision-recall curve by trapezoids; mean over queries. Columns `mAP-E`, `mAP-M`, `mAP-H`.

    Easy counts the easy items as positives, hard the hard ones, medium both; whatever else is relevant is junk and
    is taken out of the list before ranks are read. Grades come from the ranking's judgements; where relevance is
    equality of labels every positive is easy, so that "hard" has no query to count. Positives that a truncated search
    lost count as precision 0. Equal scores stand in the order that the search gave them (`ties`).
    Source: Radenovic et al., CVPR 2018.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("revisited_map", protocol="medium")(evidence)
        >>> round(measured.values["mAP-M"], 3)
        0.571
    """

    protocol: Protocol = knob("Which relevance grades count as positive.", default="medium")

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking, self.knobs.protocol)
        sums = ranks.sum(trapezoid_precision(ranks.rank, ranks.place))
        return measurement({f"mAP-{self.knobs.protocol[0].upper()}": ranks.share(sums, ranks.total)})
