"""MRR: one over the rank of the first positive."""

from __future__ import annotations

import numpy as np

from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def reciprocal_rank(ranks: PositiveRanks) -> np.ndarray:
    """float64 [q]: 1 / rank of the first positive, 0 if none was retrieved; NaN for a query without positives."""
    first = (ranks.place == 1) & (ranks.rank != UNRANKED)
    return ranks.share(ranks.sum(np.where(first, 1 / ranks.rank, 0)), ranks.total > 0)


class MeanReciprocalRank(Metric):
    """1 / rank of the first positive, 0 when none was retrieved; mean over queries. Column `MRR`.

    Equal scores are ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("mean_reciprocal_rank")(evidence)
        >>> round(measured.values["MRR"], 3)
        0.764
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        return measurement({"MRR": reciprocal_rank(positive_ranks(evidence.ranking))})
