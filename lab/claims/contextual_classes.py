"""004, figure 6 right: fewer training classes."""

from lab.claims import _context
from lab.claims._context import CONTEXT, RIVALS
from lab.claims._study import Claim, Contrast, Study, Task

SHARES = (0.5, 1.0)

STUDY = Study(
    turn=17,
    title="Fewer training classes",
    source="Contextual, figure 6",
    points=tuple(point for share in SHARES for point in _context.rivalry({"classes": share}, Task(classes=share))),
    lrs=_context.LRS,
    column="r@1",
    claims=(
        Claim(
            "Contextual, figure 6",
            "With half of the classes, the contextual loss is ahead of the other pairwise losses.",
            tuple(
                Contrast(
                    f"{CONTEXT} - {n} at half",
                    lambda s, n=n: s(loss=CONTEXT, classes=0.5) - s(loss=n, classes=0.5),
                )
                for n in RIVALS
            ),
        ),
    ),
    remark="All of the classes are 304.",
)
