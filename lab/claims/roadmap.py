"""001 (ROADMAP): the weight, slope and margin of its two parts, and what calibration adds by batch size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import lab.metrics
from lab.claims._study import Claim, Contrast, Point, Study, above, ahead, arms, doubling, less, variants

if TYPE_CHECKING:
    from lab.claims._train import TrainedModel

SIZES, CNN_SIZES = (32, 64, 128, 512), (32, 128)
MARGINS = (0.1, 0.3, 0.6, 0.8)

roadmap_weight = Study(
    turn=6,
    title="Weight of calibration, lambda",
    source="ROADMAP, figure 4a",
    points=tuple(
        Point({"lambda": lam}, {"loss": {"name": "roadmap", "lam": lam}}) for lam in (0.0, 0.2, 0.5, 0.8, 1.0)
    ),
    remark="As printed: the released code has no such weight and adds both parts.",
    lrs=(2.5e-4, 1e-3, 4e-3),
    claims=(
        Claim(
            "Both parts together are better than either alone, for every lambda from 0.2 to 0.8.",
            tuple(one for lam in (0.2, 0.5, 0.8) for one in above({"lambda": lam}, {"lambda": 0.0}, {"lambda": 1.0})),
        ),
    ),
)

roadmap_slope = Study(
    turn=10,
    title="Slope of H-, rho",
    source="ROADMAP, figure 4b",
    points=tuple(
        point
        for rho in (0.0, 10.0, 100.0, 10000.0)
        for point in variants({"rho": rho}, {"name": "roadmap", "rho": rho})
    ),
    claims=(
        Claim(
            "A slope of 10 to 100 improves on none.", tuple(less({"rho": rho}, {"rho": 0.0}) for rho in (10.0, 100.0))
        ),
        Claim("It is stable from 10 to 100.", above({"rho": 10.0}, {"rho": 100.0}, expects="none")),
        Claim("Far above 100 it gets worse.", above({"rho": 100.0}, {"rho": 10000.0})),
    ),
)


roadmap_margin = Study(
    turn=11,
    title="Margin of the calibration, alpha - beta",
    source="ROADMAP, figure 4c",
    points=(
        *variants({"margin": 0.0}, {"name": "sup_ap"}),
        *(p for m in MARGINS for p in variants({"margin": m}, {"name": "roadmap", "beta": round(0.9 - m, 6)})),
    ),
    claims=(
        Claim(
            "Any margin from 0.1 to 0.6 improves on SupAP alone.",
            tuple(less({"margin": m}, {"margin": 0.0}) for m in MARGINS if m <= 0.6),
        ),
        Claim("Margins of 0.1 to 0.4 are best.", above({"margin": 0.3}, {"margin": 0.6}, {"margin": 0.8})),
    ),
    remark="alpha stays at 0.9. A margin of 0 stands for SupAP without calibration.",
)


def points(sizes: Sequence[int]) -> tuple[Point, ...]:
    """SupAP and ROADMAP with batches of each size."""
    losses = {"SupAP": {"name": "sup_ap"}, "ROADMAP": {"name": "roadmap"}}
    return tuple(p for b in sizes for p in arms(losses, {"batch size": b}, sampler={"batch_size": b}))


def gap(model: TrainedModel) -> dict[str, float]:
    """AP in random batches of the training's size less AP of all, on the test classes (001, eq. 6)."""
    metric = lab.metrics.create("decomposability_gap", batch_size=model.config.sampler.knobs.batch_size)
    return {"gap": model.measured(metric)["DG"]}


def gain(s: Callable[..., float], size: int) -> float:
    return s(loss="ROADMAP", **{"batch size": size}) - s(loss="SupAP", **{"batch size": size})


def gains(sizes: Sequence[int]) -> tuple[Contrast, ...]:
    return tuple(one for size in sizes for one in ahead("ROADMAP", "SupAP", at={"batch size": size}))


calibration_gain = Study(
    turn=5,
    title="Gain of calibration by batch size",
    source="ROADMAP, figure 5",
    points=points(SIZES),
    extra=gap,
    claims=(
        Claim("Adding calibration to SupAP helps at every batch size.", gains(SIZES)),
        Claim(
            "The smaller the batch, the larger the gain.",
            (
                Contrast(
                    "fall of the gain when the batch size doubles",
                    lambda s: -doubling([gain(s, b) for b in SIZES], SIZES),
                    least=0.001,
                ),
            ),
        ),
        Claim(
            "Calibration narrows the decomposability gap.",
            tuple(one for b in SIZES for one in ahead("SupAP", "ROADMAP", column="gap", at={"batch size": b})),
            source="ROADMAP, section 3.2",
        ),
        Claim(
            "The smaller the batch, the larger the gap.",
            above({"loss": "SupAP", "batch size": 32}, {"batch size": 512}, column="gap"),
            source="ROADMAP, section 3.2",
        ),
    ),
)

cnn_calibration = Study(
    turn=23,
    title="Gain of calibration by batch size, the whole small CNN trained",
    source="ROADMAP, figure 5",
    points=points(CNN_SIZES),
    lrs=(1e-3, 2e-3),
    tier="cnn",
    extra=gap,
    claims=(
        Claim(
            "Adding calibration to SupAP helps, and by more with smaller batches.",
            (*gains(CNN_SIZES), Contrast("gain at 32 less gain at 128", lambda s: gain(s, 32) - gain(s, 128))),
        ),
    ),
)
