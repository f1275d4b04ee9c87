"""What a run needs of a machine, by the arithmetic of the pre-flight: processors, GPUs, memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lab.runs.config import RunConfig, parse_yaml

if TYPE_CHECKING:
    from lab.data.images.loading import Batches

PROCESS = 700_000_000
"""Bytes of a process that has loaded torch and this library, before it holds any image."""

AHEAD = 3
"""Processes that load images ahead of a run on a GPU that does not say how many, where the machine is not known yet."""

INDIFFERENT = ("seed", "steps", "validate_every", "checkpoint_every", "device", "clip", "keep_frames", "select_by")
"""Knobs of training that change nothing about what a step takes; the last asks for metrics, which are left out, too."""


@dataclass(frozen=True)
class Needs:
    """cpus: of the machine. gpus: 0 or 1. memory: bytes of the machine's own memory."""

    cpus: int
    gpus: int
    memory: int


def needs_of(config: RunConfig, gpus: bool) -> Needs:
    """What one run takes. `gpus` says whether there are any where it is going; a run with device `cpu` takes none.

    The forecast of the memory builds the model and reads one batch; runs that differ in seed, length or learning rate
    share one.

    Raises:
        ValueError: the run cannot be built at all.
    """
    knobs = config.training.knobs
    on_gpu = gpus and knobs.device != "cpu"
    alike = config.as_dict()
    alike["training"] = {name: value for name, value in alike["training"].items() if name not in INDIFFERENT}
    for section in ("optimiser", "schedule", "metrics", "evaluation"):
        alike.pop(section, None)
    workers = (AHEAD if on_gpu else 0) if knobs.workers is None else knobs.workers
    alike["training"] |= {"device": "cpu", "workers": workers}
    step, loading = _bytes_of(RunConfig.of(alike).as_yaml())
    return Needs(1 + workers, int(on_gpu), PROCESS * (1 + workers) + loading + (0 if on_gpu else step))


@lru_cache(maxsize=64)
def _bytes_of(configuration: str) -> tuple[int, int]:
    """Bytes of a step at its peak, and of what is read ahead."""
    from lab.runs.building.parts import parts_of
    from lab.runs.launching import preflight

    config = RunConfig.of(parse_yaml(configuration, "a run"))
    parts = parts_of(config, config.data.create())
    alone = parts.loader.limited(1)
    load: Callable[..., Batches] = alone.streamed if config.training.knobs.stream else alone.batches
    batch = next(iter(load([parts.items[parts.sampler.batch(0)]])))
    ahead = preflight.read_ahead(config, batch, parts.loader.workers)
    return preflight.forecast(config, parts, batch.images, batch.labels).total, ahead
