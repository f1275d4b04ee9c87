"""003, table 2: two-stage search by class anchors against brute force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lab.metrics
import lab.search
from lab.claims import _anchors
from lab.claims._anchors import CAM
from lab.claims._study import Claim, Contrast, Study
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel


def staged(model: TrainedModel) -> dict[str, float]:
    """mAP of a search among the images of the nearest anchor, with both denominators, the comparisons it takes, and
    how often the nearest anchor is right."""
    index: Any = lab.search.create(
        "two_stage", device=model.config.training.knobs.device, k=10, similarity=model.config.similarity
    )
    index.build(model.searched, model.anchors, model.parts.classes)
    ranking = index.rank(model.query, same_source=False)
    evidence = Evidence(ranking, model.query, model.searched)
    scores = {}
    for name, denominator in (("two-stage mAP", "positives"), ("two-stage mAP (retrieved)", "retrieved")):
        metric = lab.metrics.create("mean_average_precision", denominator=denominator)
        scores[name] = next(iter(metric(evidence).values.values()))
    return {
        **scores,
        **_anchors.accuracy(model),
        "share compared": float(ranking.comparisons.mean() / len(model.searched)),
    }


STUDY = Study(
    turn=3,
    title="Two-stage search against brute force",
    source="CAM, table 2",
    points=(_anchors.point(CAM, {}),),
    lrs=(1e-3, 3e-3),
    column="mAP",
    extra=staged,
    claims=(
        Claim(
            "Two-stage search has a higher mAP than brute force (lost positives counted as lost).",
            (Contrast("two-stage less brute force", lambda s: s("two-stage mAP", loss=CAM) - s(loss=CAM)),),
        ),
        Claim(
            "It has a higher mAP if lost positives are forgiven.",
            (
                Contrast(
                    "two-stage (retrieved) less brute force",
                    lambda s: s("two-stage mAP (retrieved)", loss=CAM) - s(loss=CAM),
                ),
            ),
        ),
        Claim(
            "It takes less than half of the comparisons.",
            (
                Contrast(
                    "half less the share of comparisons", lambda s: 0.5 - s("share compared", loss=CAM), points=False
                ),
            ),
        ),
    ),
    remark=_anchors.REMARK + " The paper does not say what it divides by; comparisons stand for its milliseconds.",
)
