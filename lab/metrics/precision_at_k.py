"""Precision: the fraction of the first k that is positive."""

from __future__ import annotations

import numpy as np

from lab.core.knobs import Knobs, knob
from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class PrecisionAtK(Metric):
    """Positives among the first k over k; mean over queries. Columns `P@k`.

    Divides by k even where the search returned fewer items, so that a short list is no advantage.
    """

    class Knobs(Knobs):
        k: tuple[int, ...] = knob((20, 100), "list lengths", ge=1, source="003 section 4.3")

    def __call__(self, evidence: Evidence) -> Measurement:
        found = positive_ranks(evidence.ranking)
        return measurement(
            {f"P@{k}": found.share(found.sum(found.rank <= k), np.full(len(found.total), k)) for k in self.knobs.k}
        )
