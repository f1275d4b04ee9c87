"""001, figure 4b: the slope rho of H-."""

from typing import Literal

from lab.claims._axes import options
from lab.claims._study import Claim, Contrast, Point, Study, Task

RHO = (0.0, 10.0, 100.0, 10000.0)


def less(one: float, other: float, expects: Literal["positive", "none", "no loss"] = "positive") -> Contrast:
    return Contrast(f"rho = {one:g} less rho = {other:g}", lambda s: s(rho=one) - s(rho=other), expects=expects)


STUDY = Study(
    turn=10,
    title="Slope of H-, rho",
    source="ROADMAP, figure 4b",
    points=tuple(
        Point({"rho": rho}, {"loss": {"name": "roadmap", "rho": rho, **variant}}, Task(), option)
        for rho in RHO
        for option, variant in options("roadmap").items()
    ),
    lrs=(2.5e-4, 1e-3),
    claims=(
        Claim("ROADMAP, figure 4b", "A slope of 10 to 100 improves on none.", (less(10.0, 0.0), less(100.0, 0.0))),
        Claim("ROADMAP, figure 4b", "It is stable from 10 to 100.", (less(10.0, 100.0, expects="none"),)),
        Claim("ROADMAP, figure 4b", "Far above 100 it gets worse.", (less(100.0, 10000.0),)),
    ),
)
