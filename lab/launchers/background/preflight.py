"""Before a run is queued: does the data fit, will it fit in memory, how long will it take?

`python -m lab.launchers.background.preflight CONFIG.yaml` prints one JSON object a line, so that a page can start it
and read the results.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import torch

from lab.core.explain import explain
from lab.core.formats import GB, duration, size
from lab.core.records import Stepped
from lab.data.images.folders import problems_sentence
from lab.data.images.loading import Streamed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.kernels.memory import Forecast, chunk_that_fits
from lab.runs.building.parts import parts_of
from lab.runs.config import RunConfig
from lab.training.forecast import of_step
from lab.training.loop import Parts, Trainer

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.data.images.loading import LoadedBatch

GOOD = "good"
CAREFUL = "careful"
BAD = "bad"
STEPS = 3
"""Training steps that are timed, after a warm-up step."""
LISTED = 200
"""Most problems that are listed."""
ROOM = 0.9
"""Share of the free memory that a run may fill."""


@dataclass(frozen=True)
class Check:
    """The result of one check. verdict: good, careful or bad; a bad one says what to do."""

    name: str
    verdict: str
    sentence: str
    values: dict[str, Any] = field(default_factory=dict)


def preflight(config: RunConfig) -> Iterator[Check]:
    """Check everything that commonly spoils a run; ends early if further checks are impossible.

    Takes a few training steps, so seconds on small images and up to minutes on large ones. Writes nothing.
    """
    started = time.perf_counter()
    try:
        dataset = config.data.create()
        parts = parts_of(config, dataset)
    except (ValueError, ImportError, OSError) as error:
        yield Check("data", BAD, explain(error))
        return
    yield _data(config, dataset, parts, time.perf_counter() - started)
    try:
        batch = first_batch(config, parts)
        yield _loading(config, batch, parts.loader.workers)
        yield _memory(config, parts, batch)
        yield _pace(config, dataset, parts)
    except Exception as error:  # any error of a real step is a result of this check
        yield Check("a training step", BAD, explain(error))


def _data(config: RunConfig, dataset: ImageSet, parts: Parts, seconds: float) -> Check:
    sizes = {name: len(split) for name, split in dataset.splits.items()}
    counts = ", ".join(f"{count:,} images in {name}" for name, count in sizes.items())
    counts = f"{counts}; {len(parts.classes):,} training classes"
    if dataset.classes_sentence:
        counts = f"{dataset.classes_sentence.rstrip('.')}; {counts}"
    if dataset.unlabelled_sentence:
        counts = f"{counts}; {dataset.unlabelled_sentence.rstrip('.')}"
    values = {
        "images": sizes,
        "training classes": len(parts.classes),
        "left out": len(dataset.problems),
    }
    if dataset.problems:
        values["problems"] = list(dataset.problems[:LISTED])
        return Check("data", CAREFUL, f"{counts}. {problems_sentence(dataset.problems)}", values)
    if parts.validator is None:
        last = "there is no validation split, so the last checkpoint is used as the best one"
        return Check("data", CAREFUL, f"{counts}; {last}.", values)
    return Check("data", GOOD, f"{counts}; read in {seconds:.1f} s.", values)


def first_batch(config: RunConfig, parts: Parts) -> LoadedBatch:
    """Return the first batch of a training, loaded by this process alone."""
    alone = parts.loader.limited(1)
    load: Any = alone.streamed if config.training.knobs.stream else alone.batches
    return next(iter(load([parts.items[parts.sampler.batch(0)]])))


def forecast(
    config: RunConfig, parts: Parts, images: torch.Tensor | Streamed, labels: torch.Tensor
) -> Forecast:
    """Forecast the bytes of a training step.

    Graphs that a chunked step keeps beyond its chunk fill only free memory, so they count only if `graph_memory` asks
    for them.
    """
    knobs = config.training.knobs
    parts.encoder.train()
    return of_step(
        parts.encoder,
        parts.loss,
        images,
        torch.from_numpy(np.searchsorted(parts.classes, labels.numpy())),
        chunk=knobs.chunk,
        graph_memory=int((knobs.graph_memory or 0) * GB),
        precision=MixedPrecision(knobs.precision, parts.device),
    )


def read_ahead(config: RunConfig, batch: LoadedBatch, workers: int) -> int:
    """Return the bytes that are read ahead: two parts per worker of one byte per colour, and the present part, which is
    also converted to float32."""
    knobs = config.training.knobs
    held = knobs.chunk if knobs.stream else len(batch)
    return (2 * workers + 1 + 4) * held * batch.images[:1].numel()


def _loading(config: RunConfig, batch: LoadedBatch, workers: int) -> Check:
    knobs = config.training.knobs
    needs = read_ahead(config, batch, workers)
    free = psutil.virtual_memory().available
    start = f"Loading images takes about {size(needs)} of memory, of which {size(free)} are free"
    if needs <= ROOM * free:
        return Check("loading", GOOD, f"{start}.", {"needs": needs, "free": free})
    fix = (
        "lower training.workers"
        if knobs.stream
        else "lower training.workers or set training.stream"
    )
    return Check("loading", BAD, f"{start}. Too much: {fix}.", {"needs": needs, "free": free})


def _memory(config: RunConfig, parts: Parts, batch: LoadedBatch) -> Check:
    needed = forecast(config, parts, batch.images, batch.labels)
    needs = needed.parts
    total = needed.total
    if parts.device.type == "cuda":
        free = torch.cuda.mem_get_info(parts.device)[0]
    else:
        free = psutil.virtual_memory().available
    start = f"A step takes about {size(total)}; {size(free)} are free on {parts.device}"
    values = {"needs": needs, "total": total, "free": free}
    if total <= ROOM * free:
        most = max(needs, key=lambda part: needs[part])
        sentence = f"{start}. Most of it is for the {most}. {needed.caution}"
        return Check("memory", CAREFUL if needed.caution else GOOD, sentence.rstrip(), values)
    fits = chunk_that_fits(needed, int(ROOM * free))
    fix = "lower sampler.batch_size" if fits is None else f"set training.chunk to at most {fits}"
    return Check("memory", BAD, f"{start}. Too much: {fix}. {needed.caution}".rstrip(), values)


def _pace(config: RunConfig, dataset: ImageSet, parts: Parts) -> Check:
    """Time a few real steps, without the validation."""
    knobs = config.training.knobs
    undisturbed = {
        "steps": max(STEPS + 1, knobs.steps),
        "validate_every": 10**9,
        "checkpoint_every": 10**9,
    }
    trainer = Trainer(parts, knobs.model_copy(update=undisturbed))
    times = [time.perf_counter()]
    for record in trainer.run():
        if isinstance(record, Stepped):
            times.append(time.perf_counter())
            if len(times) == STEPS + 2:
                break
    a_step = float(np.median(np.diff(times)[1:]))
    images = config.sampler.knobs.batch_size
    total = a_step * knobs.steps
    values = {"seconds a step": a_step, "images per second": images / a_step, "seconds": total}
    sentence = (
        f"{a_step:.2g} s a step, {images / a_step:,.0f} images a second: about {duration(total)} for {knobs.steps:,} "
        "steps, without the validation."
    )
    return Check("pace", GOOD if total < 86_400 else CAREFUL, sentence, values)


def main(path: str) -> None:
    """Print the checks of a configuration file as JSON lines."""
    for check in preflight(RunConfig.load(Path(path))):
        print(json.dumps(dataclasses.asdict(check)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
