"""Train on few images of each class, and measure how the score grows with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.protocols._base import (
    Judgement,
    Protocol,
    require_test_split,
    scores_of,
    seed_range,
    without_recordings,
)
from lab.protocols._outcome import summarise
from lab.runs.config import RunConfig
from lab.sweeps import Bench, changed

if TYPE_CHECKING:
    from lab.data import ImageSet


class FewShot(Protocol):
    """Train on 1, 2, 4, ... images of each training class, doubled until all are in use; the test stays the same.

    Every number of shots is trained for the same number of steps. A larger draw contains the images of the smaller
    ones; another seed draws other images. Where a batch needs more images of a class than there are, images are
    repeated with new crops and flips, so that a single shot still makes positive pairs. CAM waits 9 epochs here, not 6,
    before it halves its learning rate: `--schedule.patience 9`.
    """

    source = "CAM, section 4.4, figure 6"

    shots: tuple[int, ...] = knob(
        "Numbers of images of each class; by default 1, 2, 4, ... and all.",
        default=(),
        ge=1,
        le=MOST_ITEMS,
    )
    seeds: int = knob(
        "Number of trainings, each with another draw of the images.", default=3, ge=1, le=1000
    )

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        if "shots" not in config.data.values:
            raise ValueError(
                f"{config.data.name} has no training images to draw shots from; choose another data set."
            )
        config = without_recordings(config).changed("evaluation.splits", ("test",))
        dataset = config.changed("data.shots", None).data.create()
        require_test_split(dataset, self.name)
        dataset.check_training()
        largest = int(np.bincount(dataset.labels[dataset.splits["train"].items]).max())
        shot_counts = self.knobs.shots or doublings(largest)
        seeds = seed_range(config, self.knobs.seeds)

        configs = {}
        for shots in shot_counts:
            for seed in seeds:
                configs[_run_name(shots, seed)] = config_with_shots(config, dataset, shots, seed)
        runs = yield from bench.trained(configs)

        rows = []
        for shots in shot_counts:
            scores = [scores_of(runs[_run_name(shots, seed)], "test") for seed in seeds]
            rows.append(summarise({"shots": shots}, *scores))
        steps = config.training.knobs.steps
        return self.outcome(rows, "seeds", [f"Every size was trained for {steps:,} steps."])


def _run_name(shots: int, seed: int) -> str:
    return f"shots-{shots}-seed-{seed}"


def doublings(largest: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... below `largest`, and `largest` itself."""
    powers = [2**i for i in range(largest.bit_length()) if 2**i < largest]
    return (*powers, largest)


def config_with_shots(config: RunConfig, dataset: ImageSet, shots: int, seed: int) -> RunConfig:
    """Return the configuration with `shots` images of each class, drawn by `seed`, and batches that fit them."""
    config = changed(config, {"data.shots": shots, "data.shot_seed": seed, "training.seed": seed})
    sampler = config.sampler.values
    balanced = "short_classes" in sampler
    if balanced and (sampler.get("per_class") or 4) > shots:
        return config.changed("sampler.short_classes", "repeat")

    class_sizes = np.bincount(dataset.labels[dataset.splits["train"].items])
    images = int(np.minimum(class_sizes, shots).sum())
    if not balanced and sampler["batch_size"] > images:
        return config.changed("sampler.batch_size", images)
    return config
