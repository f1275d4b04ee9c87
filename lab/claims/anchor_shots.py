"""003, figure 6: class anchors, cross-entropy and contrastive loss with few images a class."""

from lab.claims import _anchors
from lab.claims._anchors import CAM, CE, CL
from lab.claims._axes import less
from lab.claims._study import Claim, Contrast, DataSetup, Study


def lead(one: str, other: str, shots: int) -> Contrast:
    return less(f"{one} - {other} with {shots}", {"loss": one, "shots": shots}, {"loss": other, "shots": shots})


STUDY = Study(
    turn=13,
    title="Class anchors with few images a class",
    source="CAM, figure 6",
    points=tuple(
        _anchors.point(name, {"shots": shots}, task=DataSetup("seen", shots=shots), sampler={"per_class": shots})
        for shots in (1, 2, 4)
        for name in (CAM, CE, CL)
        if not (name == CL and shots == 1)
    ),
    lrs=_anchors.LRS,
    column="mAP",
    claims=(
        Claim("With 4 images a class, class anchors are ahead of cross-entropy.", (lead(CAM, CE, 4),)),
        Claim("The contrastive loss is always last.", tuple(lead(n, CL, shots) for shots in (2, 4) for n in (CAM, CE))),
    ),
    remark=_anchors.REMARK + " All four images of a class are searched, however few were trained on. The contrastive "
    "loss needs two.",
)
