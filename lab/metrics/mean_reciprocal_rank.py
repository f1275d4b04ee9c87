"""MRR: one over the rank of the first positive."""

from __future__ import annotations

import numpy as np

from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class MeanReciprocalRank(Metric):
    """1 / rank of the first positive, 0 when none was retrieved; mean over queries. Column `MRR`.

    Equal scores stand in the order that the search gave them (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("mean_reciprocal_rank")(evidence)
        >>> round(measured.values["MRR"], 3)
        0.764
    """

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        first = (ranks.place == 1) & (ranks.rank != UNRANKED)
        return measurement({"MRR": ranks.share(ranks.sum(np.where(first, 1 / ranks.rank, 0)), ranks.total > 0)})
