"""003, figure 5: how fast class anchors, cross-entropy and contrastive loss get there."""

from collections.abc import Callable

from lab.claims import _anchors
from lab.claims._anchors import CAM, CE, CL
from lab.claims._axes import less
from lab.claims._study import Claim, Contrast, Study

STEPS = (25, 50, 100, 200, 400)


def share(s: Callable[..., float], name: str) -> float:
    """Score after 50 steps as a share of that after the most."""
    return s(loss=name, steps=50) / s(loss=name, steps=STEPS[-1])


STUDY = Study(
    turn=20,
    title="Class anchors by training time",
    source="CAM, figure 5",
    points=tuple(
        _anchors.point(name, {"steps": steps}, training={"steps": steps}) for name in (CAM, CE, CL) for steps in STEPS
    ),
    lrs=_anchors.LRS,
    column="mAP",
    claims=(
        Claim(
            "Class anchors converge faster than cross-entropy and the contrastive loss: after 50 steps they have a "
            "larger share of their final score.",
            tuple(
                Contrast(f"share of {CAM} less share of {n}", lambda s, n=n: share(s, CAM) - share(s, n), least=0.01)
                for n in (CE, CL)
            ),
        ),
        Claim(
            "In the end class anchors are ahead of both, on new images of the classes that were trained on.",
            tuple(
                less(f"{CAM} - {n} after 400", {"loss": CAM, "steps": 400}, {"loss": n, "steps": 400}) for n in (CE, CL)
            ),
            source="CAM, table 1 and figure 5",
        ),
    ),
    remark=_anchors.REMARK + " Every length is a training of its own, its learning rate falling to zero at its end.",
)
