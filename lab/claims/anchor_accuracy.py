"""003, table 4: how well class anchors and cross-entropy classify."""

from lab.claims import _anchors
from lab.claims._anchors import CAM, CE
from lab.claims._axes import less
from lab.claims._study import Claim, Study

STUDY = Study(
    turn=31,
    title="Class anchors as a classifier",
    source="CAM, table 4",
    points=tuple(_anchors.point(name, {}, training={"steps": 400}) for name in (CAM, CE)),
    lrs=(1e-3, 3e-3, 1e-2),
    column="accuracy",
    extra=_anchors.accuracy,
    claims=(
        Claim(
            "Class anchors classify better than cross-entropy.", (less(f"{CAM} - {CE}", {"loss": CAM}, {"loss": CE}),)
        ),
    ),
    remark=_anchors.REMARK + " Accuracy is that of the nearest anchor and of the linear classifier, after 400 steps; "
    "it also chooses the learning rate, as in the paper. There class anchors are ahead in six of eight pairs, by .3 to "
    "1.9 points.",
)
