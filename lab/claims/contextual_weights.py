"""004, figure 7: the weights of the contextual part and of the regulariser."""

from collections.abc import Callable

from lab.claims import _context
from lab.claims._study import Claim, Contrast, Point, Study

LAM, GAMMA = (0.0, 0.4, 0.8, 1.0), (0.0, 0.1)


def at(s: Callable[..., float], lam: float, gamma: float) -> float:
    return s(**{"lambda": lam, "gamma": gamma})


STUDY = Study(
    turn=8,
    title="Weights of the contextual loss, lambda and gamma",
    source="Contextual, figure 7",
    points=tuple(
        Point({"lambda": lam, "gamma": gamma}, {"loss": _context.contextual(lam, gamma)})
        for gamma in GAMMA
        for lam in LAM
    ),
    lrs=_context.LRS,
    column="r@1",
    claims=(
        Claim(
            "Contextual, section 5",
            "A mixture of both losses is best: lambda = 0.8 beats contrastive alone and contextual alone.",
            tuple(
                Contrast(f"0.8 less {end:g}, gamma {g:g}", lambda s, e=end, g=g: at(s, 0.8, g) - at(s, e, g))
                for g in GAMMA
                for end in (0.0, 1.0)
            ),
        ),
        Claim(
            "Contextual, section 5",
            "The similarity regulariser is sometimes helpful but never detrimental.",
            tuple(
                Contrast(
                    f"gamma 0.1 less none, lambda {lam:g}",
                    lambda s, a=lam: at(s, a, 0.1) - at(s, a, 0.0),
                    expects="no loss",
                )
                for lam in LAM
            ),
        ),
    ),
)
