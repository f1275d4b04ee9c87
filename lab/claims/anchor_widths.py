"""003, figure 4: class anchors, cross-entropy and contrastive loss over the width of the embeddings."""

from lab.claims import _anchors
from lab.claims._anchors import CAM, CE, CL
from lab.claims._axes import less, slope
from lab.claims._study import Claim, Contrast, Study

WIDTHS = (32, 64, 128, 256, 512)

STUDY = Study(
    turn=18,
    title="Class anchors over the width of the embeddings",
    source="CAM, figure 4",
    points=tuple(_anchors.point(name, {"width": width}, width) for name in (CAM, CE, CL) for width in WIDTHS),
    lrs=_anchors.LRS,
    column="mAP",
    claims=(
        Claim(
            "Cross-entropy and the contrastive loss get worse as embeddings get wider.",
            tuple(
                Contrast(f"{n}: fall when the width doubles", lambda s, n=n: -slope(s, n, "width", WIDTHS), least=0.001)
                for n in (CE, CL)
            ),
        ),
        Claim(
            "Class anchors are ahead of both at the largest width.",
            tuple(
                less(f"{CAM} - {n} at 512", {"loss": CAM, "width": 512}, {"loss": n, "width": 512}) for n in (CE, CL)
            ),
        ),
    ),
    remark=_anchors.REMARK
    + " Anchors start on base vectors from width 256 on, at random below: 240 classes do not fit.",
)
