"""003 (CAM): class anchors against cross-entropy and the contrastive loss, their parts and start, two-stage search.

As in the paper, test images are of classes that were trained on, and search the training images.
"""

from typing import Any

from scripts.studies.study import SEEN_CLASSES, Arm, Study, gains

WIDTH = 256
assert WIDTH >= SEEN_CLASSES, "anchors start on base vectors"
TWO_STAGE = "mAP, two-stage"
MAP = "mAP", "mAP"


def arm(name: str, loss: dict[str, Any], *more: str) -> Arm:
    """A training long enough for anchors, which need time."""
    return Arm(
        name,
        {"loss": loss, "encoder": {"dim": WIDTH}, "training": {"steps": 400}},
        ("mAP", *more),
        "seen",
    )


CAM: dict[str, Any] = {"name": "class_anchor_margin", "init": "base"}
SHORT = {"init": "random", "init_scale": 0.01}
ALONE = {"repeller": False, "min_norm": False}

anchors = arm("class anchors", CAM, TWO_STAGE)
entropy = arm("cross-entropy", {"name": "cross_entropy"})
contrastive = arm("contrastive", {"name": "contrastive"})
random = arm("class anchors, random start", {**CAM, **SHORT})
attractor = arm("attractor alone", {**CAM, **ALONE})
repelled = arm("attractor and repeller", {**CAM, "min_norm": False})

BRUTE, PARTS = ("table 2", "CAM, brute force"), "CAM, attractor, repeller, base anchors"
SCALE = "Random anchors are .16 long; at length 16 they would lie beyond the reach of repeller and norm term."

cam_cross_entropy = Study(
    "Class anchors beat cross-entropy.",
    gains("003", BRUTE, ("table 1", "CE"), "mAP"),
    anchors,
    entropy,
    MAP,
    "Both by brute force; the mAP of the paper's table 1 is that of two-stage search.",
)
cam_contrastive = Study(
    "Class anchors beat the contrastive loss.",
    gains("003", BRUTE, ("table 1", "CL"), "mAP"),
    anchors,
    contrastive,
    MAP,
)
cam_two_stage = Study(
    "Two-stage search by anchors beats brute force.",
    gains("003", ("table 2", "CAM, two-stage"), BRUTE, "mAP"),
    anchors,
    anchors,
    (TWO_STAGE, "mAP"),
    "Positives that are lost count as lost; the paper does not say what it divides by.",
)
cam_base_start = Study(
    "Base vectors are a better start than random ones.",
    gains(
        "003",
        ("table 3", "CAM, all three, base anchors"),
        ("table 3", "CAM, all three, random anchors"),
        "mAP",
    ),
    anchors,
    random,
    MAP,
    SCALE,
)
cam_repeller = Study(
    "The repeller is crucial.",
    gains("003", ("table 3", PARTS), ("table 3", "CAM, attractor, base anchors"), "mAP"),
    repelled,
    attractor,
    MAP,
)
