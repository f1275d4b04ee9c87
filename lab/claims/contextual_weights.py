"""004, figure 7: the weights of the contextual part and of the regulariser."""

from lab.claims import _context
from lab.claims._axes import less
from lab.claims._study import Claim, Point, Study

LAM, GAMMA = (0.0, 0.4, 0.8, 1.0), (0.0, 0.1)


def at(lam: float, gamma: float) -> dict[str, float]:
    return {"lambda": lam, "gamma": gamma}


STUDY = Study(
    turn=8,
    title="Weights of the contextual loss, lambda and gamma",
    source="Contextual, figure 7",
    points=tuple(Point(at(lam, gamma), {"loss": _context.contextual(lam, gamma)}) for gamma in GAMMA for lam in LAM),
    column="r@1",
    claims=(
        Claim(
            "A mixture of both losses is best: lambda = 0.8 beats contrastive alone and contextual alone.",
            tuple(
                less(f"0.8 less {end:g}, gamma {gamma:g}", at(0.8, gamma), at(end, gamma))
                for gamma in GAMMA
                for end in (0.0, 1.0)
            ),
            source="Contextual, section 5",
        ),
        Claim(
            "The similarity regulariser is sometimes helpful but never detrimental.",
            tuple(
                less(f"gamma 0.1 less none, lambda {lam:g}", at(lam, 0.1), at(lam, 0.0), expects="no loss")
                for lam in LAM
            ),
            source="Contextual, section 5",
        ),
    ),
)
