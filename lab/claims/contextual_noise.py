"""004, figure 6 left: wrong training labels."""

from collections.abc import Callable

from lab.claims import _context
from lab.claims._context import CONTEXT, RIVALS
from lab.claims._study import Claim, Contrast, Study, Task

SHARES = (0.0, 0.05, 0.1, 0.2)
NOISY = SHARES[1:]


def at(s: Callable[..., float], loss: str, share: float) -> float:
    return s(loss=loss, **{"wrong labels": share})


STUDY = Study(
    turn=12,
    title="Wrong training labels",
    source="Contextual, figure 6",
    points=tuple(
        point for share in SHARES for point in _context.rivalry({"wrong labels": share}, Task(wrong_labels=share))
    ),
    lrs=_context.LRS,
    column="r@1",
    claims=(
        Claim(
            "Contextual, figure 6",
            "With 5, 10 or 20 % of the labels wrong, the contextual loss is ahead of the other pairwise losses.",
            tuple(
                Contrast(f"{CONTEXT} - {n} at {share:.0%}", lambda s, n=n, w=share: at(s, CONTEXT, w) - at(s, n, w))
                for share in NOISY
                for n in RIVALS
            ),
        ),
        Claim(
            "Contextual, section 4.4",
            "It loses less than they do from clean labels to 20 % wrong ones.",
            tuple(
                Contrast(
                    f"loss of {n} less loss of {CONTEXT}",
                    lambda s, n=n: at(s, n, 0.0) - at(s, n, 0.2) - at(s, CONTEXT, 0.0) + at(s, CONTEXT, 0.2),
                )
                for n in RIVALS
            ),
        ),
    ),
    remark="Labels are drawn anew at random for that share of the training images; validation and test stay clean. The "
    "contextual part alone, lambda 1 and gamma 0, as in the paper.",
)
