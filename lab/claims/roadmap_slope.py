"""001, figure 4b: the slope rho of H-."""

from typing import Any

from lab.claims._axes import less, variants
from lab.claims._study import Claim, Contrast, Study


def gain(one: float, other: float, **expected: Any) -> Contrast:
    return less(f"rho = {one:g} less rho = {other:g}", {"rho": one}, {"rho": other}, **expected)


STUDY = Study(
    turn=10,
    title="Slope of H-, rho",
    source="ROADMAP, figure 4b",
    points=tuple(
        point
        for rho in (0.0, 10.0, 100.0, 10000.0)
        for point in variants({"rho": rho}, {"name": "roadmap", "rho": rho})
    ),
    claims=(
        Claim("A slope of 10 to 100 improves on none.", (gain(10.0, 0.0), gain(100.0, 0.0))),
        Claim("It is stable from 10 to 100.", (gain(10.0, 100.0, expects="none"),)),
        Claim("Far above 100 it gets worse.", (gain(100.0, 10000.0),)),
    ),
)
