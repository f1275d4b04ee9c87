"""004, figure 6 left: wrong training labels."""

from collections.abc import Callable

from lab.claims import _context
from lab.claims._context import CONTEXT, RIVALS
from lab.claims._study import Claim, Contrast, DataSetup, Study

SHARES = (0.0, 0.05, 0.1, 0.2)


def loss_of(s: Callable[..., float], name: str) -> float:
    """What a loss gives up from clean labels to 20 % wrong ones."""
    return s(loss=name, **{"wrong labels": 0.0}) - s(loss=name, **{"wrong labels": 0.2})


STUDY = Study(
    turn=12,
    title="Wrong training labels",
    source="Contextual, figure 6",
    points=tuple(
        point for share in SHARES for point in _context.rivalry({"wrong labels": share}, DataSetup(wrong_labels=share))
    ),
    column="r@1",
    claims=(
        Claim(
            "With 5, 10 or 20 % of the labels wrong, the contextual loss is ahead of the other pairwise losses.",
            tuple(c for w in SHARES[1:] for c in _context.ahead_of_rivals(f"{w:.0%}", {"wrong labels": w})),
        ),
        Claim(
            "It loses less than they do from clean labels to 20 % wrong ones.",
            tuple(
                Contrast(f"loss of {n} less loss of {CONTEXT}", lambda s, n=n: loss_of(s, n) - loss_of(s, CONTEXT))
                for n in RIVALS
            ),
            source="Contextual, section 4.4",
        ),
    ),
    remark="Labels are drawn anew at random for that share of the training images; validation and test stay clean. The "
    "contextual part alone, lambda 1 and gamma 0, as in the paper.",
)
