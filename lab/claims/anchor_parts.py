"""003, table 3: the parts of the class anchor margin loss, and where its anchors start."""

from lab.claims import _anchors
from lab.claims._axes import less
from lab.claims._study import Claim, Contrast, Point, Study

ON = {True: "on", False: "off"}
KNOBS: dict[str, dict[str, object]] = {
    "random": {"init": "random"},
    "random, short": {"init": "random", "init_scale": 0.01},  # .16 in 256 dimensions, .23 apart
    "base": {"init": "base"},
}
CASES = [(init, r, n) for r in (False, True) for n in (False, True) for init in KNOBS]


def at(init: str, repeller: bool, norm: bool) -> dict:
    return {"init": init, "repeller": ON[repeller], "norm": ON[norm]}


def point(init: str, repeller: bool, norm: bool) -> Point:
    loss = {"name": "class_anchor_margin", **KNOBS[init], "repeller": repeller, "min_norm": norm}
    return Point(at(init, repeller, norm), {"loss": loss, "encoder": {"dim": _anchors.DIM}}, _anchors.SEEN)


def without(repeller: bool, norm: bool) -> tuple[Contrast, ...]:
    """Contrasts for each start: both parts above these."""
    return tuple(less(f"with less without, {i}", at(i, True, True), at(i, repeller, norm)) for i in KNOBS)


STUDY = Study(
    turn=9,
    title="Parts of the class anchor margin loss, and where anchors start",
    source="CAM, table 3",
    points=tuple(point(*case) for case in CASES),
    lrs=_anchors.LRS,
    column="mAP",
    extra=_anchors.accuracy,
    claims=(
        Claim(
            "Base vectors are a better start than random ones, whatever the parts.",
            tuple(
                less(f"base less {init}, repeller {ON[r]}, norm {ON[n]}", at("base", r, n), at(init, r, n))
                for init in ("random", "random, short")
                for r in (False, True)
                for n in (False, True)
            ),
        ),
        Claim("The repeller is crucial.", without(False, True)),
        Claim("The norm term adds to the repeller.", without(True, False)),
    ),
    remark=_anchors.REMARK
    + " Random anchors are standard normal: in 256 dimensions they start 23 apart, far beyond 2 m = 4, and 16 long, "
    "far beyond p = 1, so that neither repeller nor norm term acts on them, to the last digit; base vectors start "
    "exactly 2 m apart. Short ones are a hundredth of that, .16 long and .23 apart: there the parts have work to do. "
    "The paper does not say how its random anchors were drawn.",
)
