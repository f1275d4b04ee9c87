"""Hit rate, the r@k of retrieval benchmarks: is there a positive among the first k?"""

from __future__ import annotations

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class HitRateAtK(Metric):
    """1 when at least one positive is among the first k, else 0; mean over queries. Columns `r@k`.

    Benchmarks often call this recall@k; it is not the recall of RS@k, eq. 1 (see `recall_at_k`). Equal scores stand in
    the order that the search gave them (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("hit_rate_at_k", k=(1, 2))(evidence)
        >>> measured.per_query["r@1"]
        array([1., 1., 0., 1., 1., 0.])
    """

    k: tuple[int, ...] = knob("Cut-offs k.", default=(1, 2, 4, 8), ge=1, le=MOST_ITEMS, source="RS@k, section 4.1")

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        return measurement(
            {f"r@{k}": ranks.share(ranks.sum(ranks.rank <= k) > 0, ranks.total > 0) for k in self.knobs.k}
        )
