"""003, tables 1 and 4, on a set whose classes are large enough for P@100."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lab.metrics
from lab.claims import _anchors
from lab.claims._anchors import CAM, CE, CL
from lab.claims._axes import less
from lab.claims._study import Claim, Contrast, Point, Study
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel


def measured(model: TrainedModel) -> dict[str, float]:
    """P@20 and P@100 in the training images, and the accuracy of the classifier."""
    metric = lab.metrics.create("precision_at_k", k=(20, 100))
    evidence = Evidence(model.evaluation.ranking, model.query, model.searched)
    return {**metric(evidence).values, **_anchors.accuracy(model)}


def config(name: str) -> dict:
    return {
        "loss": _anchors.loss(name),
        "data": {"validation": 0.1},
        "augmentation": {"size": 32, "crop": "padded", "pad": 4, "flip": 0.0},
        "testing": {"resize": 32},
        "sampler": {"name": "uniform", "batch_size": 128},
        "training": {"steps": 200},
    }


STUDY = Study(
    turn=32,
    title="Precision far down the list, and accuracy, on digits",
    source="CAM, tables 1 and 4",
    data="digits",
    points=tuple(Point({"loss": name}, config(name)) for name in (CAM, CE, CL)),
    lrs=(1e-3, 3e-3),
    tier="cnn",
    column="mAP",
    extra=measured,
    claims=(
        Claim(
            "Under class anchors precision stays level from 20 to 100: P@100 is within a point of P@20.",
            (Contrast("P@20 less P@100", lambda s: s("P@20", loss=CAM) - s("P@100", loss=CAM), "none", 0.01),),
            source="CAM, table 1",
        ),
        Claim(
            "Under cross-entropy and the contrastive loss precision falls more from 20 to 100.",
            tuple(
                Contrast(
                    f"fall of {n} less fall of {CAM}",
                    lambda s, n=n: s("P@20", loss=n) - s("P@100", loss=n) - s("P@20", loss=CAM) + s("P@100", loss=CAM),
                )
                for n in (CE, CL)
            ),
            source="CAM, table 1",
        ),
        Claim(
            "Class anchors have the highest P@100.",
            tuple(less(f"{CAM} - {n}", {"loss": CAM}, {"loss": n}, "P@100") for n in (CE, CL)),
            source="CAM, table 1",
        ),
        Claim(
            "Class anchors classify better than cross-entropy.",
            (less(f"{CAM} - {CE}", {"loss": CAM}, {"loss": CE}, "accuracy"),),
            source="CAM, table 4",
        ),
    ),
    remark="Each fifth image tests and is searched in the training images, 125 or more a class; the seed draws which. "
    "Uniform batches, crops out of four pixels of padding, 200 steps. Accuracy is of the nearest anchor, the linear "
    "classifier or, for the contrastive loss, the nearest neighbour. The paper chooses by it; here mAP chooses, since "
    "both rates get the same few of the 143 validation images wrong, so that accuracy ties.",
)
