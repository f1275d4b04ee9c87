"""000 (RS@k): batch sizes, the two temperatures, and which ranks k the recall surrogate sums over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab.claims._study import Claim, Contrast, Point, Study, above, arms, less, slope, variants

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
KS = (1, 2, 4, 8, 16)
SETS = ((1,), (4,), (16,), (1, 2), (1, 2, 4), (1, 2, 4, 8), KS, (1, 2, 4, 8, 16, 32))


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


def longer_lead(words: str, one: str, other: str) -> Contrast:
    return Contrast(words, lambda s: lead(s, one, other, SMALL) - lead(s, one, other, LARGE))


batch_size = Study(
    turn=2,
    title="Batch size, with and without SiMix",
    source="RS@k, figure 4 right",
    points=points(),
    lrs=(1e-3, 3e-3),
    column="r@1",
    claims=(
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
                longer_lead("gain at 32 and 64 less gain at 256 and 1,024", MIXED, RS),
            ),
        ),
        Claim(
            "RS@k beats SmoothAP, and by more where batches are small.",
            (
                Contrast("RS@k - SmoothAP, mean of all sizes", lambda s: lead(s, RS, SMOOTH, SIZES)),
                longer_lead("lead at 32 and 64 less lead at 256 and 1,024", RS, SMOOTH),
            ),
        ),
    ),
    remark="All sizes take the same number of steps, so the largest batch sees 32 times the images of the smallest and "
    "costs that much more; `batch_size_equal_images` gives all the same number of images instead.",
)

batch_size_equal_images = replace(
    batch_size,
    turn=22,
    title="Batch size at an equal number of images",
    points=points(lambda size: {"training": {"steps": 128 * 150 // size}}),  # as the head tier by default
    remark="Every training sees 19,200 images: 600 steps of 32, or 18 of 1,024.",
)


tau1 = Study(
    turn=7,
    title="Temperature on ranks, tau1",
    source="RS@k, figure 4 left",
    points=tuple(
        point
        for name, knobs in ((RS, {"simix": False}), (MIXED, SIMIX))
        for tau in (0.1, 0.3, 1.0, 3.0, 10.0)
        for point in variants({"loss": name, "tau1": tau}, {"name": "recall_at_k", "tau1": tau, **knobs})
    ),
    column="r@1",
    claims=(
        Claim(
            "With and without SiMix, tau1 = 1 is best; higher and lower values lead to a decline.",
            tuple(
                one for name in (RS, MIXED) for one in above({"loss": name, "tau1": 1.0}, {"tau1": 0.1}, {"tau1": 10.0})
            ),
            source="RS@k, section 4.4",
        ),
        Claim(
            "The loss is not very sensitive to tau1: the neighbours 0.3 and 3 are within half a point of 1.",
            tuple(
                less({"loss": name, "tau1": 1.0}, {"loss": name, "tau1": other}, expects="none")
                for name in (RS, MIXED)
                for other in (0.3, 3.0)
            ),
            source="RS@k, section 4.2",
        ),
    ),
)

tau2 = Study(
    turn=15,
    title="Temperature on similarity gaps, tau2",
    source="RS@k, section 4.2",
    points=tuple(
        point for tau in (0.001, 0.01, 0.1) for point in variants({"tau2": tau}, {"name": "recall_at_k", "tau2": tau})
    ),
    column="r@1",
    claims=(
        Claim(
            "tau2 = 0.01 is a good choice: ten times more or less is worse.",
            above({"tau2": 0.01}, {"tau2": 0.001}, {"tau2": 0.1}),
        ),
    ),
    remark="The paper takes 0.01 over from SmoothAP and shows no sweep of it.",
)


NAMED = {ks: {"k": " ".join(map(str, ks))} for ks in SETS}

set_of_k = Study(
    turn=27,
    title="The set of k of the recall surrogate",
    source="RS@k, section 4.2",
    points=tuple(point for ks in SETS for point in variants(NAMED[ks], {"name": "recall_at_k", "k": list(ks)})),
    column="r@1",
    claims=(
        Claim(
            "The method is not very sensitive to the set of k: sets of three or more lie within half a point.",
            tuple(less(NAMED[ks], NAMED[KS], expects="none") for ks in SETS if len(ks) > 2 and ks != KS),
        ),
        Claim("Several k are better than one.", tuple(less(NAMED[KS], NAMED[ks]) for ks in SETS if len(ks) == 1)),
    ),
    remark="A class has four images in a batch, so that three positives are all there is to find; k of 16 and 32 ask "
    "for them among so many. The paper's own study is in its supplement, which was not at hand.",
)
