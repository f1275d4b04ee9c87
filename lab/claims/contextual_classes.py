"""004, figure 6 right: fewer training classes."""

from lab.claims import _context
from lab.claims._study import Claim, DataSetup, Study

STUDY = Study(
    turn=17,
    title="Fewer training classes",
    source="Contextual, figure 6",
    points=tuple(
        point for share in (0.5, 1.0) for point in _context.rivalry({"classes": share}, DataSetup(classes=share))
    ),
    column="r@1",
    claims=(
        Claim(
            "With half of the classes, the contextual loss is ahead of the other pairwise losses.",
            _context.ahead_of_rivals("half", {"classes": 0.5}),
        ),
    ),
    remark="All of the classes are 304.",
)
