"""000, figure 4 left: the temperature on ranks, with and without SiMix."""

from typing import Any

from lab.claims._axes import less, variants
from lab.claims._study import Claim, Contrast, Study
from lab.claims.batch_size import MIXED, RS, SIMIX

KNOBS: dict[str, dict[str, Any]] = {RS: {"simix": False}, MIXED: SIMIX}


def gain(name: str, other: float, **expected: Any) -> Contrast:
    """How much better 1 is than another temperature."""
    words = f"{name}: tau1 = 1 less tau1 = {other:g}"
    return less(words, {"loss": name, "tau1": 1.0}, {"loss": name, "tau1": other}, **expected)


STUDY = Study(
    turn=7,
    title="Temperature on ranks, tau1",
    source="RS@k, figure 4 left",
    points=tuple(
        point
        for name, knobs in KNOBS.items()
        for tau1 in (0.1, 0.3, 1.0, 3.0, 10.0)
        for point in variants({"loss": name, "tau1": tau1}, {"name": "recall_at_k", "tau1": tau1, **knobs})
    ),
    column="r@1",
    claims=(
        Claim(
            "With and without SiMix, tau1 = 1 is best; higher and lower values lead to a decline.",
            tuple(gain(name, other) for name in KNOBS for other in (0.1, 10.0)),
            source="RS@k, section 4.4",
        ),
        Claim(
            "The loss is not very sensitive to tau1: the neighbours 0.3 and 3 are within half a point of 1.",
            tuple(gain(name, other, expects="none") for name in KNOBS for other in (0.3, 3.0)),
            source="RS@k, section 4.2",
        ),
    ),
)
