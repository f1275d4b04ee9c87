"""001, figure 5: what calibration adds to SupAP by batch size, and the measured decomposability gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import lab.metrics
from lab.claims._axes import arms, doubling
from lab.claims._study import Claim, Contrast, Study
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._outcome import Outcome


SIZES = (32, 64, 128, 512)
LOSSES = {"SupAP": {"name": "sup_ap"}, "ROADMAP": {"name": "roadmap"}}
GAP = "gap"


def gap(outcome: Outcome) -> dict[str, float]:
    """AP in random batches of the training's size less AP of all, on the test classes (001, eq. 6)."""
    metric = lab.metrics.create("decomposability_gap", batch_size=outcome.config.sampler.knobs.batch_size)
    measurement = metric(Evidence(outcome.evaluation.ranking, outcome.query, outcome.query))
    return {GAP: measurement.values["DG"]}


def gain(s: Callable[..., float], size: int) -> float:
    return s(loss="ROADMAP", **{"batch size": size}) - s(loss="SupAP", **{"batch size": size})


STUDY = Study(
    turn=5,
    title="Gain of calibration by batch size",
    source="ROADMAP, figure 5",
    points=tuple(point for size in SIZES for point in arms(LOSSES, {"batch size": size}, sampler={"batch_size": size})),
    lrs=(2.5e-4, 1e-3),
    extra=gap,
    claims=(
        Claim(
            "ROADMAP, figure 5",
            "Adding calibration to SupAP helps at every batch size.",
            tuple(Contrast(f"gain at {size}", lambda s, b=size: gain(s, b)) for size in SIZES),
        ),
        Claim(
            "ROADMAP, figure 5",
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
            "ROADMAP, section 3.2",
            "Calibration narrows the decomposability gap.",
            tuple(
                Contrast(
                    f"gap of SupAP less gap of ROADMAP at {size}",
                    lambda s, b=size: (
                        s(GAP, loss="SupAP", **{"batch size": b}) - s(GAP, loss="ROADMAP", **{"batch size": b})
                    ),
                )
                for size in SIZES
            ),
        ),
        Claim(
            "ROADMAP, section 3.2",
            "The smaller the batch, the larger the gap.",
            (
                Contrast(
                    "SupAP: gap at 32 less gap at 512",
                    lambda s: s(GAP, loss="SupAP", **{"batch size": 32}) - s(GAP, loss="SupAP", **{"batch size": 512}),
                ),
            ),
        ),
    ),
)
