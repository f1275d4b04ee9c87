"""001, figure 4c: the margin alpha - beta of the calibration."""

from lab.claims._study import Claim, Contrast, Point, Study

MARGINS = (0.1, 0.3, 0.6, 0.8)


def less(one: float, other: float) -> Contrast:
    what = "SupAP alone" if other == 0 else f"margin {other:g}"
    return Contrast(f"margin {one:g} less {what}", lambda s: s(margin=one) - s(margin=other))


STUDY = Study(
    turn=11,
    title="Margin of the calibration, alpha - beta",
    source="ROADMAP, figure 4c",
    points=(
        Point({"margin": 0.0}, {"loss": {"name": "sup_ap"}}),
        *(Point({"margin": m}, {"loss": {"name": "roadmap", "beta": round(0.9 - m, 6)}}) for m in MARGINS),
    ),
    lrs=(1e-3,),
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
