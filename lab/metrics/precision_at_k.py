"""Precision: the fraction of the first k that is positive."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class PrecisionAtK(Metric):
    """Positives among the first k over k; mean over queries. Columns `P@k`.

    Divides by k even where the search returned fewer items, so that a short list is no advantage. Equal scores
    stand in the order that the search gave them (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("precision_at_k", k=(2,))(evidence)
        >>> measured.per_query["P@2"]
        array([0.5, 0.5, 0. , 0.5, 0.5, 0. ])
    """

    k: tuple[int, ...] = knob("Lengths of the list.", default=(20, 100), ge=1, le=MOST_ITEMS, source="CAM, section 4.2")

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        return measurement(
            {f"P@{k}": ranks.share(ranks.sum(ranks.rank <= k), np.full(len(ranks.total), k)) for k in self.knobs.k}
        )
