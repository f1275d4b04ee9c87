"""000, section 4.2: the temperature on similarity gaps, 0.01 as in SmoothAP."""

from lab.claims._axes import options
from lab.claims._study import Claim, Contrast, Point, Study, Task

TAU2 = (0.001, 0.01, 0.1)

STUDY = Study(
    turn=15,
    title="Temperature on similarity gaps, tau2",
    source="RS@k, section 4.2",
    points=tuple(
        Point({"tau2": tau2}, {"loss": {"name": "recall_at_k", "tau2": tau2, **variant}}, Task(), option)
        for tau2 in TAU2
        for option, variant in options("recall_at_k").items()
    ),
    lrs=(2.5e-4, 1e-3),
    column="r@1",
    claims=(
        Claim(
            "RS@k, section 4.2",
            "tau2 = 0.01 is a good choice: ten times more or less is worse.",
            tuple(
                Contrast(f"tau2 = 0.01 less tau2 = {other:g}", lambda s, o=other: s(tau2=0.01) - s(tau2=o))
                for other in (0.001, 0.1)
            ),
        ),
    ),
    remark="The paper takes 0.01 over from SmoothAP and shows no sweep of it.",
)
