"""How much is learnt from how few images of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.core.knobs import MOST_ITEMS, knob
from lab.protocols._base import Judgement, Protocol, lean, scores_of, seeds, with_test
from lab.protocols._outcome import measured
from lab.runs.config import RunConfig
from lab.sweeps import Bench, changed

if TYPE_CHECKING:
    from lab.data import ImageSet


class FewShot(Protocol):
    """Train on 1, 2, 4, ... images of each training class, doubled until all are in use; the test stays the same.

    Every size gets the same number of steps. More shots keep the images of fewer; another seed draws other images.
    Where a batch asks for more images of a class than there are, they are repeated, cropped and flipped anew, so that
    one shot still makes positive pairs. CAM waits 9 epochs here, not 6, to halve its rate: `--schedule.patience 9`.
    """

    source = "CAM, section 4.4, figure 6"

    shots: tuple[int, ...] = knob(
        "Numbers of images of each class; by default 1, 2, 4, ... and all.", default=(), ge=1, le=MOST_ITEMS
    )
    seeds: int = knob("Number of trainings, each with another draw of the images.", default=3, ge=1, le=1000)

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        if "shots" not in config.data.values:
            raise ValueError(f"{config.data.name} has no training images to draw shots from; choose another data set.")
        config = lean(config).changed("evaluation.splits", ("test",))
        dataset = config.changed("data.shots", None).data.create()
        with_test(dataset, self.name)
        dataset.check_training()
        largest = int(np.bincount(dataset.labels[dataset.splits["train"].items]).max())
        sizes, draws = self.knobs.shots or doublings(largest), seeds(config, self.knobs.seeds)
        configs = {f"shots-{shots}-seed-{seed}": few(config, dataset, shots, seed) for shots in sizes for seed in draws}
        runs = yield from bench.trained(configs)
        rows = [
            measured({"shots": shots}, *(scores_of(runs[f"shots-{shots}-seed-{seed}"], "test") for seed in draws))
            for shots in sizes
        ]
        steps = config.training.knobs.steps
        return self.outcome(rows, "seeds", [f"Every size was trained for {steps:,} steps."])


def doublings(largest: int) -> tuple[int, ...]:
    """1, 2, 4, ... below `largest`, and `largest` itself."""
    powers = [2**i for i in range(largest.bit_length()) if 2**i < largest]
    return (*powers, largest)


def few(config: RunConfig, dataset: ImageSet, shots: int, seed: int) -> RunConfig:
    """The configuration with so many images of each class, drawn by seed, and batches that can be made of them."""
    config = changed(config, {"data.shots": shots, "data.shot_seed": seed, "training.seed": seed})
    sampler = config.sampler.values
    if "short_classes" in sampler and (sampler.get("per_class") or 4) > shots:
        return config.changed("sampler.short_classes", "repeat")
    counts = np.bincount(dataset.labels[dataset.splits["train"].items])
    images = int(np.minimum(counts, shots).sum())
    if "short_classes" not in sampler and sampler["batch_size"] > images:
        return config.changed("sampler.batch_size", images)
    return config
