"""Before a run is queued: does the data fit, will it fit in memory, are its gradients right, how long will it take?

`python -m lab.runs.launching.preflight CONFIG.yaml` prints one JSON object a line, so that a page can start it and look
on.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import torch

from lab.core.explain import explain
from lab.core.formats import GB, duration, size
from lab.core.records import Stepped
from lab.data.images.loading import Streamed
from lab.data.images.reading import ImageError, check_whole
from lab.evaluation.precision import Precision
from lab.kernels.memory import Forecast, chunk_that_fits
from lab.runs.building.parts import parts_of
from lab.runs.config import RunConfig
from lab.runs.evaluate import problems_sentence
from lab.training.forecast import of_step
from lab.training.loop import Parts, Trainer
from lab.training.steps import gradients

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.data.images.loading import LoadedBatch

GOOD, CAREFUL, BAD = "good", "careful", "bad"
STEPS = 3
"""Training steps that are timed, after one that warms up."""
SAMPLED = 16
"""Images that stand for all when memory and gradients are measured."""
EQUAL = 1e-7
"""Relative disagreement of float64 gradients that rounding explains."""
LISTED = 200
"""Problems that are listed, at most."""
PATIENCE, AT_ONCE = 10.0, 64
"""Seconds for which image files are looked at, and how many of them between two looks at the clock."""
ROOM = 0.9
"""Share of the free memory that a run may fill."""


@dataclass(frozen=True)
class Check:
    """What one look found. verdict: good, careful or bad; a bad one says what to do."""

    name: str
    verdict: str
    sentence: str
    values: dict[str, Any] = field(default_factory=dict)


def preflight(config: RunConfig) -> Iterator[Check]:
    """Look at everything that commonly spoils a run; ends early when nothing further can be looked at.

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
    yield from _files(dataset)
    try:
        batch = first_batch(config, parts)
        yield _loading(config, batch, parts.loader.workers)
        yield _memory(config, parts, batch)
        yield _gradients(config, parts, batch)
        yield _pace(config, dataset, parts)
    except Exception as error:  # whatever a real step would meet is what this is here to tell
        yield Check("a training step", BAD, explain(error))


def _data(config: RunConfig, dataset: ImageSet, parts: Parts, seconds: float) -> Check:
    sizes = {name: len(split) for name, split in dataset.splits.items()}
    counts = ", ".join(f"{count:,} images in {name}" for name, count in sizes.items())
    counts = f"{counts}; {len(parts.classes):,} training classes"
    values = {"images": sizes, "training classes": len(parts.classes), "left out": len(dataset.problems)}
    if dataset.problems:
        values["problems"] = list(dataset.problems[:LISTED])
        return Check("data", CAREFUL, f"{counts}. {problems_sentence(dataset.problems)}", values)
    if parts.validator is None:
        last = "there is no validation split, so the last checkpoint is used as the best one"
        return Check("data", CAREFUL, f"{counts}; {last}.", values)
    return Check("data", GOOD, f"{counts}; read in {seconds:.1f} s.", values)


def _files(dataset: ImageSet) -> Iterator[Check]:
    """Whether image files are whole: their first bytes, which were read until now, do not tell."""
    looked, damages = damaged(dataset)
    if not looked:
        return
    of = "" if looked == len(dataset) else f" of {len(dataset):,}, as many as there was time for,"
    if not damages:
        yield Check("images", GOOD, f"{looked:,} files{of} were looked at, and none is damaged.", {"looked at": looked})
        return
    is_are = "is" if len(damages) == 1 else "are"
    sentence = f"{len(damages):,} of {looked:,} files{of} {is_are} damaged and will be left out of batches; the first: "
    yield Check("images", CAREFUL, sentence + damages[0], {"looked at": looked, "problems": damages[:LISTED]})


def damaged(dataset: ImageSet) -> tuple[int, list[str]]:
    """How many image files were looked at whole, in `PATIENCE` seconds, and a sentence for each that is damaged; none
    where the images are no files of a folder."""

    def damage(at: int) -> str:
        try:
            check_whole(dataset.path(at))
        except (ImageError, OSError) as error:
            return explain(error)
        except MemoryError:  # it may be a good one
            return ""
        return ""

    sentences: list[str] = []
    count = 0 if dataset.root is None or dataset.pixels is not None else len(dataset)
    ends, looked = time.monotonic() + PATIENCE, 0
    with ThreadPoolExecutor(8) as pool:
        while looked < count and time.monotonic() < ends:
            several = range(looked, min(looked + AT_ONCE, count))
            sentences += filter(None, pool.map(damage, several))
            looked = several.stop
    return looked, sentences


def first_batch(config: RunConfig, parts: Parts) -> LoadedBatch:
    """The first batch of a training, loaded by this process alone."""
    alone = parts.loader.limited(1)
    load: Any = alone.streamed if config.training.knobs.stream else alone.batches
    return next(iter(load([parts.items[parts.sampler.batch(0)]])))


def forecast(config: RunConfig, parts: Parts, images: torch.Tensor | Streamed, labels: torch.Tensor) -> Forecast:
    """Bytes that a training step will need.

    Graphs that a chunked step keeps beyond its chunk only fill memory that is free, so they count where `graph_memory`
    asks for them.
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
        precision=Precision(knobs.precision, parts.device),
    )


def read_ahead(config: RunConfig, batch: LoadedBatch, workers: int) -> int:
    """Bytes of what is read ahead: two parts a worker of one byte a colour, and the part in hand, which is also made
    float32."""
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
    fix = "lower training.workers" if knobs.stream else "lower training.workers or set training.stream"
    return Check("loading", BAD, f"{start}. Too much: {fix}.", {"needs": needs, "free": free})


def _memory(config: RunConfig, parts: Parts, batch: LoadedBatch) -> Check:
    needed, on_gpu = forecast(config, parts, batch.images, batch.labels), parts.device.type == "cuda"
    needs, total = needed.parts, needed.total
    free = torch.cuda.mem_get_info(parts.device)[0] if on_gpu else psutil.virtual_memory().available
    start = f"A step takes about {size(total)}; {size(free)} are free on {parts.device}"
    values = {"needs": needs, "total": total, "free": free}
    if total <= ROOM * free:
        most = max(needs, key=lambda part: needs[part])
        sentence = f"{start}. Most of it is for the {most}. {needed.caution}"
        return Check("memory", CAREFUL if needed.caution else GOOD, sentence.rstrip(), values)
    fits = chunk_that_fits(needed, int(ROOM * free))
    fix = "lower sampler.batch_size" if fits is None else f"set training.chunk to at most {fits}"
    return Check("memory", BAD, f"{start}. Too much: {fix}. {needed.caution}".rstrip(), values)


def _gradients(config: RunConfig, parts: Parts, batch: LoadedBatch) -> Check:
    """Chunked against plain gradients of one small batch, in float64 and without dropout's chance."""
    knobs = config.training.knobs
    if knobs.chunk is None or knobs.chunk >= len(batch):
        return Check("gradients", GOOD, "The batch is embedded at once, without chunks: there is nothing to compare.")
    if knobs.chunk_batchnorm == "per_chunk":
        sentence = "Batch normalisation uses the statistics of each chunk, so a chunked step differs from a plain one."
        return Check("gradients", CAREFUL, sentence)
    few = min(len(batch), max(SAMPLED, 4)) if isinstance(batch.images, torch.Tensor) else knobs.chunk
    if few < 2:
        return Check("gradients", CAREFUL, "Images differ in size, so there is no plain step to compare with.")
    images, labels = batch.images[:few].double(), batch.labels[:few]
    labels = torch.from_numpy(np.searchsorted(parts.classes, labels.numpy()))
    encoder, loss = (copy.deepcopy(m).double().cpu().eval() for m in (parts.encoder, parts.loss))
    by_way = []
    for chunk in (None, max(1, min(knobs.chunk, few // 3))):
        encoder.zero_grad(set_to_none=True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            gradients(encoder, loss, images, labels, chunk=chunk)
        by_way.append(torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None]))
    plain, chunked = by_way
    off = float((plain - chunked).norm() / plain.norm().clamp_min(torch.finfo(torch.float64).tiny))
    sentence = f"Chunked gradients differ from plain ones by {off:.1e}, relatively (float64, {few} images)"
    verdict, meaning = (GOOD, "equal but for rounding") if off <= EQUAL else (BAD, "not equal. Train without chunks")
    return Check("gradients", verdict, f"{sentence}: {meaning}.", {"relative difference": off})


def _pace(config: RunConfig, dataset: ImageSet, parts: Parts) -> Check:
    """Time a few real steps, without the validation."""
    knobs = config.training.knobs
    far = {"steps": max(STEPS + 1, knobs.steps), "validate_every": 10**9, "checkpoint_every": 10**9}
    trainer = Trainer(parts, knobs.model_copy(update=far))
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
