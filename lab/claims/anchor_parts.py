"""003, table 3: the parts of the class anchor margin loss, and where its anchors start."""

from lab.claims import _anchors
from lab.claims._study import Claim, Contrast, Point, Study

ON = {True: "on", False: "off"}
SHORT = 0.01
"""How long short random anchors are, in standard deviations: .16 in 256 dimensions, .23 apart."""
KNOBS: dict[str, dict[str, object]] = {
    "random": {"init": "random"},
    "random, short": {"init": "random", "init_scale": SHORT},
    "base": {"init": "base"},
}


def at(init: str, repeller: bool, norm: bool) -> dict:
    return {"init": init, "repeller": ON[repeller], "norm": ON[norm]}


def config(init: str, repeller: bool, norm: bool) -> dict:
    loss = {"name": "class_anchor_margin", **KNOBS[init], "repeller": repeller, "min_norm": norm}
    return {"loss": loss, "encoder": {"dim": _anchors.DIM}}


CASES = [(init, r, n) for r in (False, True) for n in (False, True) for init in KNOBS]


def less(words: str, one: tuple, other: tuple) -> Contrast:
    return Contrast(words, lambda s: s(**at(*one)) - s(**at(*other)))


STUDY = Study(
    turn=9,
    title="Parts of the class anchor margin loss, and where anchors start",
    source="CAM, table 3",
    points=tuple(Point(at(*case), config(*case), _anchors.SEEN) for case in CASES),
    lrs=_anchors.LRS,
    column="mAP",
    extra=_anchors.accuracy,
    claims=(
        Claim(
            "CAM, table 3",
            "Base vectors are a better start than random ones, whatever the parts.",
            tuple(
                less(f"base less {init}, repeller {ON[r]}, norm {ON[n]}", ("base", r, n), (init, r, n))
                for init in ("random", "random, short")
                for r in (False, True)
                for n in (False, True)
            ),
        ),
        Claim(
            "CAM, table 3",
            "The repeller is crucial.",
            tuple(less(f"with less without, {init}", (init, True, True), (init, False, True)) for init in KNOBS),
        ),
        Claim(
            "CAM, table 3",
            "The norm term adds to the repeller.",
            tuple(less(f"with less without, {init}", (init, True, True), (init, True, False)) for init in KNOBS),
        ),
    ),
    remark=_anchors.REMARK
    + " Random anchors are standard normal: in 256 dimensions they start 23 apart, far beyond 2 m = 4, and 16 long, "
    "far beyond p = 1, so that neither repeller nor norm term acts on them, to the last digit; base vectors start "
    "exactly 2 m apart. Short ones are a hundredth of that, .16 long and .23 apart: there the parts have work to do. "
    "The paper does not say how its random anchors were drawn.",
)
