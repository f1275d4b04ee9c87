"""001, figure 4c: the margin alpha - beta of the calibration."""

from lab.claims._axes import options
from lab.claims._study import Claim, Contrast, Point, Study, Task

MARGINS = (0.1, 0.3, 0.6, 0.8)


def less(one: float, other: float) -> Contrast:
    what = "SupAP alone" if other == 0 else f"margin {other:g}"
    return Contrast(f"margin {one:g} less {what}", lambda s: s(margin=one) - s(margin=other))


def trained(margin: float, loss: dict) -> list[Point]:
    """The margin in both variants of the loss."""
    variants = options(loss["name"]).items()
    return [Point({"margin": margin}, {"loss": {**loss, **variant}}, Task(), option) for option, variant in variants]


STUDY = Study(
    turn=11,
    title="Margin of the calibration, alpha - beta",
    source="ROADMAP, figure 4c",
    points=(
        *trained(0.0, {"name": "sup_ap"}),
        *(point for m in MARGINS for point in trained(m, {"name": "roadmap", "beta": round(0.9 - m, 6)})),
    ),
    lrs=(2.5e-4, 1e-3),
    claims=(
        Claim(
            "ROADMAP, figure 4c",
            "Any margin from 0.1 to 0.6 improves on SupAP alone.",
            tuple(less(m, 0.0) for m in MARGINS if m <= 0.6),
        ),
        Claim("ROADMAP, figure 4c", "Margins of 0.1 to 0.4 are best.", (less(0.3, 0.6), less(0.3, 0.8))),
    ),
    remark="alpha stays at 0.9. A margin of 0 stands for SupAP without calibration.",
)
