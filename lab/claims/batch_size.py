"""000, figure 4 right: the batch size, with and without SiMix, at an equal number of steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.claims._axes import arms, slope
from lab.claims._study import Claim, Contrast, Point, Study

SIZES = (32, 64, 256, 1024)
SMALL, LARGE = SIZES[:2], SIZES[2:]
RS, MIXED, SMOOTH = "RS@k", "RS@k with SiMix", "SmoothAP"
SIMIX: dict[str, Any] = {"simix": True, "k": [1, 2, 4, 8, *range(12, 33, 4)]}
"""SiMix with its own lengths of the short list (000, section 4.2)."""
LOSSES: dict[str, dict[str, Any]] = {
    RS: {"name": "recall_at_k"},
    MIXED: {"name": "recall_at_k", **SIMIX},
    SMOOTH: {"name": "smooth_ap"},
}


def points(sections: Callable[[int], Mapping[str, Any]] = lambda size: {}) -> tuple[Point, ...]:
    """Each loss at each size; `sections` of the configuration follow from the size."""
    return tuple(
        point
        for name, loss in LOSSES.items()
        for size in SIZES
        for point in arms({name: loss}, {"batch size": size}, sampler={"batch_size": size}, **sections(size))
    )


def lead(s: Callable[..., float], one: str, other: str, sizes: Sequence[int]) -> float:
    """Mean lead over some batch sizes."""
    pairs = [(s("r@1", loss=one, **{"batch size": b}), s("r@1", loss=other, **{"batch size": b})) for b in sizes]
    return sum(a - b for a, b in pairs) / len(sizes)


CLAIMS = (
    Claim(
        "Larger batches are better for RS@k.",
        (
            Contrast(
                f"{RS}: rise of r@1 when the batch size doubles",
                lambda s: slope(s, RS, "batch size", SIZES, "r@1"),
                least=0.001,
            ),
        ),
    ),
    Claim(
        "SiMix helps RS@k most where batches are small.",
        (
            Contrast("gain of SiMix at 32 and 64", lambda s: lead(s, MIXED, RS, SMALL)),
            Contrast(
                "gain at 32 and 64 less gain at 256 and 1,024",
                lambda s: lead(s, MIXED, RS, SMALL) - lead(s, MIXED, RS, LARGE),
            ),
        ),
    ),
    Claim(
        "RS@k beats SmoothAP, and by more where batches are small.",
        (
            Contrast("RS@k - SmoothAP, mean of all sizes", lambda s: lead(s, RS, SMOOTH, SIZES)),
            Contrast(
                "lead at 32 and 64 less lead at 256 and 1,024",
                lambda s: lead(s, RS, SMOOTH, SMALL) - lead(s, RS, SMOOTH, LARGE),
            ),
        ),
    ),
)

STUDY = Study(
    turn=2,
    title="Batch size, with and without SiMix",
    source="RS@k, figure 4 right",
    points=points(),
    lrs=(1e-3, 3e-3),
    column="r@1",
    claims=CLAIMS,
    remark="All sizes take the same number of steps, so the largest batch sees 32 times the images of the smallest and "
    "costs that much more; `batch_size_equal_images` gives all the same number of images instead.",
)
