"""001, figure 5: what calibration adds to SupAP by batch size, and the measured decomposability gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import lab.metrics
from lab.claims._axes import arms, doubling, less
from lab.claims._study import Claim, Contrast, Point, Study
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel


SIZES = (32, 64, 128, 512)
GAP = "gap"


def points(sizes: Sequence[int]) -> tuple[Point, ...]:
    """SupAP and ROADMAP with batches of each size."""
    losses = {"SupAP": {"name": "sup_ap"}, "ROADMAP": {"name": "roadmap"}}
    return tuple(p for b in sizes for p in arms(losses, {"batch size": b}, sampler={"batch_size": b}))


def gap(model: TrainedModel) -> dict[str, float]:
    """AP in random batches of the training's size less AP of all, on the test classes (001, eq. 6)."""
    metric = lab.metrics.create("decomposability_gap", batch_size=model.config.sampler.knobs.batch_size)
    measurement = metric(Evidence(model.evaluation.ranking, model.query, model.query))
    return {GAP: measurement.values["DG"]}


def gain(s: Callable[..., float], size: int) -> float:
    return s(loss="ROADMAP", **{"batch size": size}) - s(loss="SupAP", **{"batch size": size})


def gains(sizes: Sequence[int]) -> tuple[Contrast, ...]:
    return tuple(Contrast(f"gain at {size}", lambda s, b=size: gain(s, b)) for size in sizes)


def at(loss: str, size: int) -> dict[str, str | int]:
    return {"loss": loss, "batch size": size}


STUDY = Study(
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
            tuple(
                less(f"gap of SupAP less gap of ROADMAP at {b}", at("SupAP", b), at("ROADMAP", b), GAP) for b in SIZES
            ),
            source="ROADMAP, section 3.2",
        ),
        Claim(
            "The smaller the batch, the larger the gap.",
            (less("SupAP: gap at 32 less gap at 512", at("SupAP", 32), at("SupAP", 512), GAP),),
            source="ROADMAP, section 3.2",
        ),
    ),
)
