"""004, table 1: gradients that disagree with the labels, kept or clamped."""

from lab.claims import _context
from lab.claims._axes import less
from lab.claims._study import Claim, Point, Study

KEPT, CLAMPED = {"gradient": "as it is"}, {"gradient": "clamped"}

STUDY = Study(
    turn=4,
    title="Clamped gradients",
    source="Contextual, table 1",
    points=tuple(
        Point(setting, {"loss": _context.contextual(correct_gradient=setting is CLAMPED)})
        for setting in (KEPT, CLAMPED)
    ),
    column="r@1",
    extra=_context.train_score,
    claims=(
        Claim(
            "Clamping the gradients by the labels lowers r@1 on unseen classes.",
            (less("as it is less clamped", KEPT, CLAMPED),),
        ),
        Claim("It raises r@1 on the training classes.", (less("clamped less as it is", CLAMPED, KEPT, "train r@1"),)),
    ),
)
