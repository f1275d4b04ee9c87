"""000, section 4.2: the temperature on similarity gaps, 0.01 as in SmoothAP."""

from lab.claims._axes import less, variants
from lab.claims._study import Claim, Study

STUDY = Study(
    turn=15,
    title="Temperature on similarity gaps, tau2",
    source="RS@k, section 4.2",
    points=tuple(
        point
        for tau2 in (0.001, 0.01, 0.1)
        for point in variants({"tau2": tau2}, {"name": "recall_at_k", "tau2": tau2})
    ),
    column="r@1",
    claims=(
        Claim(
            "tau2 = 0.01 is a good choice: ten times more or less is worse.",
            tuple(less(f"tau2 = 0.01 less tau2 = {o:g}", {"tau2": 0.01}, {"tau2": o}) for o in (0.001, 0.1)),
        ),
    ),
    remark="The paper takes 0.01 over from SmoothAP and shows no sweep of it.",
)
