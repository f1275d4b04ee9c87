"""The training loop: a generator of records. It prints nothing, and knows of no run folder but its checkpoints."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import nn

from lab.core.explain import last_line
from lab.core.formats import GB
from lab.core.records import Batched, Record, Saved, Saving, Stepped
from lab.data.images.loading import Batches, LoadedBatch, Loader, Streamed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.kernels import allocator
from lab.training import checkpoint, forecast
from lab.training.checkups import Checkups
from lab.training.distributed import Processes
from lab.training.processes.batchnorm import share as share_statistics
from lab.training.randomness import ENCODER, LOSS, deterministic, seeded
from lab.training.settings import TrainingKnobs
from lab.training.steps import Diverged, StepResult, gradients
from lab.training.stopwatch import Stopwatch
from lab.training.validation import Validator

BEST = "best"
LAST = "last"
PACE = 20
"""Steps whose mean duration gives the forecast of the remaining time."""


@dataclass(frozen=True)
class Parts:
    """The parts of a run, built and bound.

    encoder, loss: modules on `device`; the loss already wrapped.
    sampler: bound to the labels of `items`. items: int64 [n], training images by position in the data set.
    classes: int64 [c], ascending; the data set's class of each training label 0..c-1.
    loader: training images. optimiser: a torch optimiser over both modules. schedule: entry of its catalogue.
    validator: None when there are no validation classes.
    config: the configuration, as YAML gives it; each checkpoint holds it.
    """

    encoder: nn.Module
    loss: nn.Module
    sampler: Any
    items: np.ndarray
    classes: np.ndarray
    loader: Loader
    optimiser: torch.optim.Optimizer
    schedule: Any
    validator: Validator | None
    device: torch.device
    config: dict[str, Any] | None = None


@dataclass
class TrainingProgress:
    """The progress of a run; with weights and optimiser state, all that a checkpoint holds.

    step: steps done. seconds: spent on them. best_step, best_score: of the validator; larger scores are better.
    scores: of every validation so far.
    """

    step: int = 0
    seconds: float = 0.0
    best_step: int | None = None
    best_score: float | None = None
    scores: list[float] = dataclasses.field(default_factory=list)


class Stopped(RuntimeError):
    """A run that cannot continue: one sentence, the step, and the batch that replays it.

    batch: embeddings float32 [n d], labels int64 [n], items int64 [n], numpy.
    """

    def __init__(self, sentence: str, step: int, batch: dict[str, np.ndarray]):
        super().__init__(sentence)
        self.step = step
        self.batch = batch


def _never() -> bool:
    return False


class Trainer:
    """Trains `parts` as `knobs` say. Every draw depends on the seed and the step, so resuming changes nothing.

    Args:
        checkpoints: folder of best.safetensors and last.safetensors; None writes none.
        processes: the processes that share the batches, None for this one alone. The first measures and saves.
        stop: called in every step; after True `stopped` is true in all processes after the same step.
    """

    def __init__(
        self,
        parts: Parts,
        knobs: TrainingKnobs,
        checkpoints: Path | None = None,
        processes: Processes | None = None,
        stop: Callable[[], bool] = _never,
    ):
        if processes is not None:
            parts = replace(parts, loader=parts.loader.shared(processes.rank, processes.world))
            if knobs.processes_batchnorm == "shared" and knobs.chunk is None:
                share_statistics(parts.encoder)
        self.parts = parts
        self.knobs = knobs
        self.checkpoints = checkpoints
        self.processes = processes
        self.stop = stop
        self.stopped = False
        if knobs.stream and knobs.chunk is None:
            raise ValueError(
                "training: stream loads a batch chunk by chunk; say with chunk how many images at once."
            )
        if knobs.graph_memory is not None and knobs.chunk is None:
            raise ValueError(
                "training: graph_memory is for chunks; say with chunk how many images at once."
            )
        if parts.schedule.needs_scores and (parts.validator is None or processes is not None):
            raise ValueError(
                "The schedule follows what validation finds, which takes a validation split (--data.validation) and a "
                "single process; choose another schedule, for instance --schedule step."
            )
        self._kept: int | None = None  # chunks that keep their graph, known from the first step on
        self.precision = MixedPrecision(knobs.precision, parts.device)
        self.checkups = Checkups(parts, knobs.steps, knobs.validate_every, on=processes is None)
        self.progress = TrainingProgress()
        self._durations: deque[float] = deque(maxlen=PACE)
        self._validating = 0.0  # seconds that the last validation took
        self._warming = True

    def resume(self) -> int:
        """Load the last checkpoint; returns its step, 0 if there is none.

        Raises:
            ValueError: the checkpoint is damaged, or of another configuration.
        """
        path = self.checkpoints and self.checkpoints / f"{LAST}.safetensors"
        if path is None or not path.is_file():
            return 0
        state = checkpoint.load(path)
        try:
            self.parts.encoder.load_state_dict(state["encoder"])
            self.parts.loss.load_state_dict(state["loss"])
            # The configuration's own learning rates stay: they may have changed since the checkpoint.
            groups = [{**group, "params": None} for group in self.parts.optimiser.param_groups]
            self.parts.optimiser.load_state_dict(state["optimiser"])
            for group, configured in zip(self.parts.optimiser.param_groups, groups, strict=True):
                group.update({**configured, "params": group["params"]})
            self.precision.load_state_dict(state["scaler"])
            self.progress = TrainingProgress(**state["progress"])
        except (RuntimeError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(
                f"{path} does not fit the configuration of this run: {last_line(error)}"
            ) from None
        return self.progress.step

    def run(self) -> Iterator[Record]:
        """Train from `progress` to the last step, or until asked to stop.

        Raises:
            Stopped: a loss, an embedding or a gradient became NaN or infinite.
            ValueError: a step would not fit into memory.
            OSError: a checkpoint could not be written.
        """
        knobs = self.knobs
        parts = self.parts
        if parts.device.type == "cpu":
            allocator.keep_freed_memory()
        if not knobs.steps:
            yield from self.save(LAST)
        drawn = (
            parts.items[parts.sampler.batch(step)]
            for step in range(self.progress.step, knobs.steps)
        )
        load: Callable[..., Batches] = (
            parts.loader.streamed if knobs.stream else parts.loader.batches
        )
        with closing(load(drawn, first_step=self.progress.step)) as batches:
            while self.progress.step < knobs.steps and not self.stopped:
                started = time.perf_counter()
                watch = Stopwatch(parts.device)
                with watch.of("waiting for images"):
                    batch = next(batches)
                step = self.progress.step + 1
                result, norm, lr = self._step(batch, step, watch)
                duration = time.perf_counter() - started
                self.progress.step = step
                self.progress.seconds += duration
                # Measure the pace.
                if len(self._durations) == 1 and self._warming:
                    self._durations.clear()  # the first step compiles kernels, so its time tells nothing of the next
                    self._warming = False
                self._durations.append(duration)
                yield self._stepped(result, norm, lr, duration, watch.seconds(duration))
                if self.checkups.due(step):
                    yield self.checkups.of_batch(step, result.embeddings, batch)

                # Validate and save at their intervals, and at the end.
                last = step == knobs.steps
                if last or step % knobs.validate_every == 0:
                    yield Batched(
                        step, float(result.loss), self._replayable(result.embeddings, batch)
                    )
                    started = time.perf_counter()
                    yield from self._validate(step)
                    self._validating = time.perf_counter() - started
                if last or self.stopped or step % knobs.checkpoint_every == 0:
                    yield from self.save(LAST)

    def save(self, name: str) -> Iterator[Saving | Saved]:
        """Write a checkpoint; the best one holds weights only, the last one everything needed to resume."""
        if self.checkpoints is None:
            return
        if self.processes is not None and not self.processes.first:
            return
        step = self.progress.step
        parts = self.parts
        yield Saving(step, name)
        state: dict[str, Any] = {
            "encoder": parts.encoder.state_dict(),
            "config": parts.config,
            "loss": parts.loss.state_dict(),
            "progress": dataclasses.asdict(self.progress),
        }
        if name == LAST:
            state["optimiser"] = parts.optimiser.state_dict()
            state["scaler"] = self.precision.state_dict()
        checkpoint.save(self.checkpoints / f"{name}.safetensors", state)
        yield Saved(step, name)

    def _step(
        self, batch: LoadedBatch, step: int, watch: Stopwatch
    ) -> tuple[StepResult, float, float]:
        knobs = self.knobs
        parts = self.parts
        # Set the learning rate of this step.
        factor = parts.schedule.factor(step, knobs.steps, self.progress.scores)
        for group in parts.optimiser.param_groups:
            group["lr"] = group["base_lr"] * factor
        labels = torch.from_numpy(np.searchsorted(parts.classes, batch.labels.numpy()))
        self._name_images(batch)

        def loss(embeddings: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            with seeded(knobs.seed, LOSS, step, device=parts.device):
                return parts.loss(embeddings, labels)

        parts.encoder.train()
        parts.loss.train()
        parts.optimiser.zero_grad(set_to_none=True)
        rank = 0 if self.processes is None else self.processes.rank
        # Gradients of the batch, in chunks; the first batch decides which graphs all keep.
        with deterministic(), seeded(knobs.seed, ENCODER, step, rank, device=parts.device):
            if self._kept is None:
                self._kept = self._plan(batch.images, labels)
            try:
                result = gradients(
                    parts.encoder,
                    loss,
                    batch.images,
                    labels,
                    chunk=knobs.chunk,
                    keep=self._kept,
                    batchnorm=knobs.chunk_batchnorm,
                    precision=self.precision,
                    gather=self.processes,
                    watch=watch,
                )
            except Diverged as diverged:
                raise self._stop(str(diverged), step, diverged.embeddings, batch) from None
            # Ask to stop, sum gradients over the processes, and move the weights.
            self.stopped = self.stop()
            if self.processes is not None:
                self.stopped = self.processes.complete(parts.encoder, parts.loss, self.stopped)
            with watch.of("optimiser"):
                weights = []
                for group in parts.optimiser.param_groups:
                    weights += group["params"]
                # the norm before it is clipped
                norm = self.precision.clip(parts.optimiser, weights, knobs.clip)
                if not (math.isfinite(norm) or self.precision.scales):
                    raise self._stop(
                        f"the gradient's norm is {norm}", step, result.embeddings, batch
                    )
                self.checkups.optimised(step, lambda: self.precision.step(parts.optimiser))
        return result, norm, parts.optimiser.param_groups[0]["lr"]

    def _name_images(self, batch: LoadedBatch) -> None:
        """Pass the batch's images to a loss that remembers images one by one."""
        for module in self.parts.loss.modules():
            if hasattr(module, "images_of_batch"):
                items = batch.items.to(self.parts.device)
                module.images_of_batch = (
                    items if self.processes is None else self.processes.rows(items)
                )

    def _plan(self, images: torch.Tensor | Streamed, labels: torch.Tensor) -> int:
        """Return how many chunks keep their graph.

        Raises:
            ValueError: not even the smallest step fits; the sentence names what would.
        """
        knobs = self.knobs
        encoder = self.parts.encoder
        needed = forecast.of_step(
            encoder, self.parts.loss, images, labels, chunk=knobs.chunk, precision=self.precision
        )
        forecast.refuse_what_cannot_be_had(needed, self.parts.device)
        limit = None if knobs.graph_memory is None else int(knobs.graph_memory * GB)
        return forecast.chunks_kept(needed, limit, self.parts.device)

    def _stop(self, what: str, step: int, embeddings: torch.Tensor, batch: LoadedBatch) -> Stopped:
        return Stopped(
            f"Training stopped at step {step} because {what}. The batch is kept for replay; lower the learning rate, "
            "clip the gradient, or look at the batch in the inspector.",
            step,
            self._replayable(embeddings, batch),
        )

    def _replayable(self, embeddings: torch.Tensor, batch: LoadedBatch) -> dict[str, np.ndarray]:
        labels = batch.labels.to(self.parts.device)
        items = batch.items.to(self.parts.device)
        if self.processes is not None:
            labels = self.processes.labels(labels)
            items = self.processes.labels(items)
        return {
            "embeddings": embeddings.float().cpu().numpy(),
            "labels": labels.cpu().numpy(),
            "items": items.cpu().numpy(),
        }

    def _stepped(
        self, result: StepResult, norm: float, lr: float, duration: float, spent: dict[str, float]
    ) -> Stepped:
        if self.parts.device.type == "cuda":
            memory = torch.cuda.max_memory_allocated(self.parts.device)
        else:
            memory = psutil.Process().memory_info().rss
        return Stepped(
            step=self.progress.step,
            steps=self.knobs.steps,
            loss=float(result.loss),
            lr=lr,
            gradient_norm=norm,
            seconds=self.progress.seconds,
            images_per_second=len(result.embeddings) / duration,
            memory_bytes=memory,
            eta_seconds=self._seconds_left(),
            spent=spent,
        )

    def _seconds_left(self) -> float:
        """Return the seconds to the end of the training, with validations as long as the last; NaN after step 1."""
        step = self.progress.step
        steps = self.knobs.steps
        every = self.knobs.validate_every
        if self._warming and step < steps:
            return math.nan
        validations = steps // every - (step - 1) // every + (steps % every > 0)
        return (steps - step) * sum(self._durations) / len(
            self._durations
        ) + validations * self._validating

    def _validate(self, step: int) -> Generator[Record, None, None]:
        validator = self.parts.validator
        if validator is None:
            return
        validated = yield from validator(self.parts.encoder, step, self.processes)
        if validated is None:  # the first process measures
            if self.processes:
                self.processes.from_first("")
            return
        score = validator.score(validated.values)
        self.progress.scores.append(score if math.isfinite(score) else -math.inf)
        best = math.isfinite(score) and (
            self.progress.best_score is None or score > self.progress.best_score
        )
        if best:
            self.progress.best_step = step
            self.progress.best_score = score
        yield dataclasses.replace(validated, best=best)
        yield from self.checkups.of_validation(validated)
        if self.processes:
            self.processes.from_first("")
        if best:
            yield from self.save(BEST)
