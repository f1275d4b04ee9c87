"""001, figure 4a: the weight of calibration in ROADMAP."""

from lab.claims._axes import less
from lab.claims._study import Claim, Point, Study

STUDY = Study(
    turn=6,
    title="Weight of calibration, lambda",
    source="ROADMAP, figure 4a",
    points=tuple(
        Point({"lambda": lam}, {"loss": {"name": "roadmap", "lam": lam}}) for lam in (0.0, 0.2, 0.5, 0.8, 1.0)
    ),
    remark="As printed: the released code has no such weight and adds both parts.",
    lrs=(2.5e-4, 1e-3, 4e-3),
    claims=(
        Claim(
            "Both parts together are better than either alone, for every lambda from 0.2 to 0.8.",
            tuple(
                less(f"lambda = {lam:g} less lambda = {end:g}", {"lambda": lam}, {"lambda": end})
                for lam in (0.2, 0.5, 0.8)
                for end in (0.0, 1.0)
            ),
        ),
    ),
)
