"""004, table 1: gradients that disagree with the labels, kept or clamped."""

from lab.claims import _context
from lab.claims._study import Claim, Contrast, Point, Study

STUDY = Study(
    turn=4,
    title="Clamped gradients",
    source="Contextual, table 1",
    points=tuple(
        Point({"gradient": name}, {"loss": _context.contextual(correct_gradient=name == "clamped")})
        for name in ("as it is", "clamped")
    ),
    lrs=(2.5e-4, 1e-3),
    column="r@1",
    extra=_context.train_score,
    claims=(
        Claim(
            "Contextual, table 1",
            "Clamping the gradients by the labels lowers r@1 on unseen classes.",
            (Contrast("as it is less clamped", lambda s: s(gradient="as it is") - s(gradient="clamped")),),
        ),
        Claim(
            "Contextual, table 1",
            "It raises r@1 on the training classes.",
            (
                Contrast(
                    "clamped less as it is",
                    lambda s: s("train r@1", gradient="clamped") - s("train r@1", gradient="as it is"),
                ),
            ),
        ),
    ),
)
