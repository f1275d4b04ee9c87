"""004, figure 9: contextual and contrastive loss by batch size, on the training classes."""

from lab.claims import _context
from lab.claims._axes import less
from lab.claims._study import Claim, Contrast, Point, Study

WHOLE = "1398, six a class"
"""Nearly all that can be trained on at once: every image of 233 classes, as the paper's largest batch is its whole set.
Neighbourhoods are then as wide as classes."""

SAMPLERS: dict[int | str, dict[str, int]] = {
    **{size: {"batch_size": size} for size in (64, 256, 1024)},
    WHOLE: {"batch_size": 1398, "per_class": 6},
}


def at(size: int | str, lam: float) -> dict[str, int | str | float]:
    return {"batch size": size, "lambda": lam}


def best(size: int | str) -> tuple[Contrast, ...]:
    """Contrasts: lambda 1 above the other weights."""
    return tuple(less(f"{size}: lambda 1 less {a:g}", at(size, 1.0), at(size, a), "train r@1") for a in (0.0, 0.5))


STUDY = Study(
    turn=21,
    title="Contextual loss by batch size, on the training classes",
    source="Contextual, figure 9",
    points=tuple(
        Point(at(size, lam), {"loss": _context.contextual(lam), "sampler": sampler})
        for size, sampler in SAMPLERS.items()
        for lam in (0.0, 0.5, 1.0)
    ),
    column="r@1",
    extra=_context.train_score,
    claims=(
        Claim(
            "With small batches, the contextual part alone does not rank the training set: it gains from large ones.",
            (less("lambda 1: 1,024 less 64", at(1024, 1.0), at(64, 1.0), "train r@1"),),
        ),
        Claim("With large batches, the contrastive part is not needed: lambda 1 is best.", best(1024)),
        Claim(
            "Where batches hold whole classes, the contextual part alone gains over small batches.",
            (less("lambda 1: whole classes less 64", at(WHOLE, 1.0), at(64, 1.0), "train r@1"),),
        ),
        Claim("Where batches hold whole classes, the contrastive part is not needed: lambda 1 is best.", best(WHOLE)),
    ),
    remark="The learning rate is chosen on unseen classes; the scores told are r@1 among the training images. Batches "
    "of 1,024 hold four images of nearly every class, and neighbourhoods of four; the last row holds whole classes.",
)
