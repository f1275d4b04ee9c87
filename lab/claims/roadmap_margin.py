"""001, figure 4c: the margin alpha - beta of the calibration."""

from lab.claims._axes import less, variants
from lab.claims._study import Claim, Contrast, Study

MARGINS = (0.1, 0.3, 0.6, 0.8)


def gain(one: float, other: float) -> Contrast:
    what = "SupAP alone" if other == 0 else f"margin {other:g}"
    return less(f"margin {one:g} less {what}", {"margin": one}, {"margin": other})


STUDY = Study(
    turn=11,
    title="Margin of the calibration, alpha - beta",
    source="ROADMAP, figure 4c",
    points=(
        *variants({"margin": 0.0}, {"name": "sup_ap"}),
        *(p for m in MARGINS for p in variants({"margin": m}, {"name": "roadmap", "beta": round(0.9 - m, 6)})),
    ),
    claims=(
        Claim("Any margin from 0.1 to 0.6 improves on SupAP alone.", tuple(gain(m, 0.0) for m in MARGINS if m <= 0.6)),
        Claim("Margins of 0.1 to 0.4 are best.", (gain(0.3, 0.6), gain(0.3, 0.8))),
    ),
    remark="alpha stays at 0.9. A margin of 0 stands for SupAP without calibration.",
)
