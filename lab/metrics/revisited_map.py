"""mAP of Revisited Oxford and Paris: trapezoids under the precision-recall curve, with junk removed from the list."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import knob
from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, Protocol, measurement, positive_ranks


def trapezoid_precision(rank: np.ndarray, place: np.ndarray) -> np.ndarray:
    """float64 [p]: mean of the precisions just before and at each positive; 0 for a positive that was not retrieved.

    Args:
        rank: int64 [p], 1-based ranks. Before the first item of the list precision counts as 1.
        place: int64 [p], 1-based ranks among the query's positives.
    """
    before = np.where(rank == 1, 1.0, (place - 1) / np.maximum(rank - 1, 1))
    return np.where(rank == UNRANKED, 0.0, (before + place / rank) / 2)


def trapezoid_average_precision(ranks: PositiveRanks) -> np.ndarray:
    """float64 [q]: area under the precision-recall curve by trapezoids; NaN for a query without positives."""
    return ranks.share(ranks.sum(trapezoid_precision(ranks.rank, ranks.place)), ranks.total)


class RevisitedMap(Metric):
    """Area under the precision-recall curve by trapezoids; mean over queries. Columns `mAP-E`, `mAP-M`, `mAP-H`.

    Easy counts the easy items as positives, hard the hard ones, medium both. Other relevant items are junk and are
    removed from the list before ranks are read. Grades come from the ranking's judgements; if relevance is equality of
    labels, every positive is easy, and "hard" has no query to count. Positives that a truncated search did not return
    count as precision 0. Equal scores are ranked in the order of the search (`ties`).
    Source: Radenovic et al., CVPR 2018.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("revisited_map", protocol="medium")(evidence)
        >>> round(measured.values["mAP-M"], 3)
        0.571
    """

    protocol: Protocol = knob("Which relevance grades count as positive.", default="medium")

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking, self.knobs.protocol)
        letter = self.knobs.protocol[0].upper()
        return measurement({f"mAP-{letter}": trapezoid_average_precision(ranks)})
