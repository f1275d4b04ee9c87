"""004, table 5: the steps of the contextual similarity, one taken away or changed at a time."""

from typing import Any

from lab.claims import _context
from lab.claims._axes import less
from lab.claims._study import Claim, Point, Study

WHOLE = "whole"
CHANGES: dict[str, dict[str, Any]] = {
    WHOLE: {},
    "without M-": {"complement": False},
    "without query expansion": {"expansion": False},
    "without intersection": {"intersection": False},
    "min for product": {"conjunction": "min"},
    "sigmoid for step": {"theta": "sigmoid"},
    "step 1 only": {"intersection": False, "expansion": False},
    "step 1 only, with a sigmoid": {"intersection": False, "expansion": False, "theta": "sigmoid"},
    "without the stop of gradients": {"stop_gradient": False},
}
LAM = (1.0, 0.8)


def at(parts: str, lam: float) -> dict[str, str | float]:
    return {"parts": parts, "lambda": lam}


STUDY = Study(
    turn=19,
    title="Steps of the contextual similarity",
    source="Contextual, table 5",
    points=tuple(
        Point(at(name, lam), {"loss": _context.contextual(lam, **knobs)})
        for lam in LAM
        for name, knobs in CHANGES.items()
    ),
    column="r@1",
    claims=tuple(
        Claim(
            words, tuple(less(f"{WHOLE} less {change}, lambda {lam:g}", at(WHOLE, lam), at(change, lam)) for lam in LAM)
        )
        for change, words in {
            "without M-": "M-, the strangers in common, is necessary.",
            "without query expansion": "Query expansion is necessary.",
            "without intersection": "Comparing neighbourhoods is necessary.",
            "min for product": "The product is better than the minimum.",
            "sigmoid for step": "The step with a constant slope is better than a sigmoid.",
            "step 1 only": "Neighbourhoods alone, by the first step, are not enough.",
            "step 1 only, with a sigmoid": "Nor are they with a sigmoid.",
            "without the stop of gradients": "No gradient may pass through the sizes of neighbourhoods.",
        }.items()
    ),
)
