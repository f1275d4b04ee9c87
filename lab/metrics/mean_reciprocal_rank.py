"""MRR: one over the rank of the first positive."""

from __future__ import annotations

import numpy as np

from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class MeanReciprocalRank(Metric):
    """1 / rank of the first positive, 0 when none was retrieved; mean over queries. Column `MRR`.

    Example (`evidence` is that of `lab.metrics`):
        >>> found = lab.metrics.create("mean_reciprocal_rank")(evidence)
        >>> round(found.values["MRR"], 3)
        0.764
    """

    class Knobs(Metric.Knobs):
        """None."""

    def __call__(self, evidence: Evidence) -> Measurement:
        found = positive_ranks(evidence.ranking)
        first = (found.place == 1) & (found.rank != UNRANKED)
        return measurement({"MRR": found.share(found.sum(np.where(first, 1 / found.rank, 0)), found.total > 0)})
