"""Hit rate, the r@k of retrieval benchmarks: is there a positive among the first k?"""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def hit_rate(ranks: PositiveRanks, k: int) -> np.ndarray:
    """float64 [q]: 1 if a positive is among the first k, else 0; NaN for a query without positives."""
    hits = ranks.sum(ranks.rank <= k)
    return ranks.share(hits > 0, ranks.total > 0)


class HitRateAtK(Metric):
    """1 when at least one positive is among the first k, else 0; mean over queries. Columns `r@k`.

    Benchmarks often call this recall@k; it is not the recall of RS@k, eq. 1 (see `recall_at_k`). Equal scores are
    ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("hit_rate_at_k", k=(1, 2))(evidence)
        >>> measured.per_query["r@1"]
        array([1., 1., 0., 1., 1., 0.])
    """

    k: tuple[int, ...] = knob(
        "Cut-offs k.", default=(1, 2, 4, 8), ge=1, le=MOST_ITEMS, source="RS@k, section 4.1"
    )

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        return measurement({f"r@{k}": hit_rate(ranks, k) for k in self.knobs.k})
