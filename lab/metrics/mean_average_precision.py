"""mAP: average precision over the whole ranking."""

from __future__ import annotations

from typing import Literal

from lab.core.knobs import knob
from lab.core.results import UNRANKED, Evidence, Measurement
from lab.metrics._base import Metric, measurement, positive_ranks


class MeanAveragePrecision(Metric):
    """Mean of the precisions at the positives; mean over queries. Column `mAP`, or `mAP (retrieved)`.

    A search that does not return every item (two-stage, IVF) loses positives. Dividing by all positives counts each
    lost positive as precision 0. Dividing by the retrieved ones ignores it, so a shortened ranking can seem better than
    the full one (CAM, table 2). On a full ranking both are the same. Equal scores are ranked in the order of the search
    (`ties`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("mean_average_precision")(evidence)
        >>> measured.per_query["mAP"].round(3)
        array([0.7  , 0.7  , 0.417, 0.833, 0.833, 0.325])
    """

    denominator: Literal["positives", "retrieved"] = knob(
        "Divide by the number of all positives, or by the number of those that the search retrieved.",
        default="positives",
    )

    def __call__(self, evidence: Evidence) -> Measurement:
        ranks = positive_ranks(evidence.ranking)
        if self.knobs.denominator == "positives":
            return measurement({"mAP": ranks.average_precision})
        retrieved = ranks.sum(ranks.rank != UNRANKED)
        return measurement({"mAP (retrieved)": ranks.share(ranks.sum(ranks.precision), retrieved)})
