"""Precision: the fraction of the first k that is positive."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks


def precision(ranks: PositiveRanks, k: int) -> np.ndarray:
    """float64 [q]: positives among the first k, over k; NaN for a query without positives."""
    return ranks.share(ranks.sum(ranks.rank <= k), np.full(len(ranks.total), k))


class PrecisionAtK(Metric):
    """Positives among the first k over k; mean over queries. Columns `P@k`.

    The divisor is k even if the search returned fewer items, so that a short list is no advantage. Equal scores are
    ranked in the order of the search (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("precision_at_k", k=(2,))(evidence)
        >>> measured.per_query["P@2"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    k: tuple[int, ...] = knob(
        "Lengths of the list.", default=(20, 100), ge=1, le=MOST_ITEMS, source="CAM, section 4.2"
    )

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        return measurement({f"P@{k}": precision(ranks, k) for k in self.knobs.k})
