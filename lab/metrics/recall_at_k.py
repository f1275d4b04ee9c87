"""Recall: the fraction of a query's positives among the first k (000, eq. 1)."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def recall(ranks: PositiveRanks, k: int) -> np.ndarray:
    """float64 [q]: positives among the first k, over all positives; NaN for a query without positives."""
    return ranks.share(ranks.sum(ranks.rank <= k), ranks.total)


class RecallAtK(Metric):
    """Positives among the first k over all positives; mean over queries. Columns `recall@k`.

    It is below 1 if a query has more than k positives. Benchmarks often write recall@k for the hit rate (see
    `hit_rate_at_k`). Equal scores are ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("recall_at_k", k=(1, 5))(evidence)
        >>> {name: round(value, 3) for name, value in measured.values.items()}
        {'recall@1': 0.333, 'recall@5': 1.0}
    """

    k: tuple[int, ...] = knob(
        "Cut-offs k.", default=(1, 2, 4, 8), ge=1, le=MOST_ITEMS, source="RS@k, eq. 1"
    )

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        return measurement({f"recall@{k}": recall(ranks, k) for k in self.knobs.k})
