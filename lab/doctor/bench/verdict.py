"""What the check-ups cost a training: their share of its time, which the verdict promises to keep below 2 %."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lab.doctor.bench._measure import BenchRow


def measure(steps: int = 400, batch_size: int = 128, size: int = 32) -> Iterator[BenchRow]:
    """Seconds of a training on Emoji-7, and what of them went into its check-ups."""
    import lab.runs

    config = lab.runs.RunConfig.of(
        {
            "data": {"name": "emoji7", "validation": 0.1},
            "augmentation": {"size": size},
            "sampler": {"name": "m_per_class", "batch_size": batch_size},
            "loss": {"name": "smooth_ap"},
            "training": {"steps": steps, "validate_every": max(1, steps // 4), "device": "cpu"},
            "evaluation": {"splits": ("validation",)},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        run = lab.runs.create(config, Path(folder), "measured")
        spent, checkups, last, number = 0.0, 0.0, time.perf_counter(), 0
        for record in lab.runs.execute(run):
            now = time.perf_counter()
            of_checkup = record.kind == "checkup" or "training images" in getattr(
                record, "what", ""
            )
            of_checkup |= "pixels" in getattr(record, "what", "")
            checkups += (now - last) if of_checkup else 0.0
            number += record.kind == "checkup"
            spent += now - last
            last = time.perf_counter()
    setting = f"{steps} steps of {batch_size} images, {number} check-ups"
    yield BenchRow("verdict", "training", setting, spent, "s")
    yield BenchRow("verdict", "share of the check-ups", setting, checkups / spent, "share")
