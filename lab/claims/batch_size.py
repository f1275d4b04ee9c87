"""000, figure 4 right: the batch size, with and without SiMix, at an equal number of steps."""

from collections.abc import Callable, Sequence
from typing import Any

from lab.claims._axes import arms, slope
from lab.claims._study import Claim, Contrast, Study

SIZES = (32, 64, 256, 1024)
SMALL, LARGE = SIZES[:2], SIZES[2:]
SIMIX: dict[str, Any] = {"simix": True, "k": [1, 2, 4, 8, *range(12, 33, 4)]}
"""SiMix with its own lengths of the short list (000, section 4.2)."""
LOSSES: dict[str, dict[str, Any]] = {
    "RS@k": {"name": "recall_at_k"},
    "RS@k with SiMix": {"name": "recall_at_k", **SIMIX},
    "SmoothAP": {"name": "smooth_ap"},
}


def score(s: Callable[..., float], loss: str, size: int) -> float:
    return s("r@1", loss=loss, **{"batch size": size})


def lead(s: Callable[..., float], one: str, other: str, sizes: Sequence[int]) -> float:
    """Mean lead over some batch sizes."""
    return sum(score(s, one, b) - score(s, other, b) for b in sizes) / len(sizes)


def rises(loss: str) -> Contrast:
    return Contrast(
        f"{loss}: rise of r@1 when the batch size doubles", lambda s: slope(s, loss, SIZES, score), least=0.001
    )


CLAIMS = (
    Claim("RS@k, figure 4 right", "Larger batches are better for RS@k.", (rises("RS@k"),)),
    Claim(
        "RS@k, figure 4 right",
        "SiMix helps RS@k most where batches are small.",
        (
            Contrast("gain of SiMix at 32 and 64", lambda s: lead(s, "RS@k with SiMix", "RS@k", SMALL)),
            Contrast(
                "gain at 32 and 64 less gain at 256 and 1,024",
                lambda s: lead(s, "RS@k with SiMix", "RS@k", SMALL) - lead(s, "RS@k with SiMix", "RS@k", LARGE),
            ),
        ),
    ),
    Claim(
        "RS@k, figure 4 right",
        "RS@k beats SmoothAP, and by more where batches are small.",
        (
            Contrast("RS@k - SmoothAP, mean of all sizes", lambda s: lead(s, "RS@k", "SmoothAP", SIZES)),
            Contrast(
                "lead at 32 and 64 less lead at 256 and 1,024",
                lambda s: lead(s, "RS@k", "SmoothAP", SMALL) - lead(s, "RS@k", "SmoothAP", LARGE),
            ),
        ),
    ),
)

STUDY = Study(
    turn=2,
    title="Batch size, with and without SiMix",
    source="RS@k, figure 4 right",
    points=tuple(
        point
        for name, loss in LOSSES.items()
        for size in SIZES
        for point in arms({name: loss}, {"batch size": size}, sampler={"batch_size": size})
    ),
    lrs=(1e-3, 3e-3),
    column="r@1",
    claims=CLAIMS,
    remark="All sizes take the same number of steps, so the largest batch sees 32 times the images of the smallest and "
    "costs that much more; `batch_size_equal_images` gives all the same number of images instead.",
)
