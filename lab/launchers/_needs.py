"""What a run needs of a machine: processors, GPUs, memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lab.runs.config import RunConfig, parse_yaml

PROCESS = 700_000_000
"""Bytes of a process that has loaded torch and this library, before it holds any image."""

AHEAD = 3
"""Processes that load images ahead of a run on a GPU that does not say how many, where the machine is not known yet."""

INDIFFERENT = ("seed", "steps", "validate_every", "checkpoint_every", "device", "clip", "keep_frames", "select_by")
UNLIKE = ("optimiser", "schedule", "metrics", "evaluation")
"""Knobs of training, and sections, that change nothing about what a step takes."""


@dataclass(frozen=True)
class Needs:
    """cpus: of the machine. gpus: 0 or 1. memory: bytes of the machine's own memory."""

    cpus: int
    gpus: int
    memory: int


def needs_of(config: RunConfig, gpus: bool, memory: float | None = None) -> Needs:
    """What one run takes. A run with device `cpu` takes no GPU.

    Args:
        gpus: whether there are any where it is going.
        memory: in GB, where a person has said; else the model is built, and the pre-flight forecasts a step of one
            batch. Runs that differ in seed, length or learning rate share a forecast.

    Raises:
        ValueError: the run cannot be built at all.
    """
    knobs = config.training.knobs
    on_gpu = gpus and knobs.device != "cpu"
    workers = (AHEAD if on_gpu else 0) if knobs.workers is None else knobs.workers
    if memory is not None:
        return Needs(1 + workers, int(on_gpu), int(memory * 1e9))
    alike = {name: value for name, value in config.as_dict().items() if name not in UNLIKE}
    alike["training"] = {name: value for name, value in alike["training"].items() if name not in INDIFFERENT}
    alike["training"] |= {"device": "cpu", "workers": workers}
    step, loading = _bytes_of(RunConfig.of(alike).as_yaml())
    return Needs(1 + workers, int(on_gpu), PROCESS * (1 + workers) + loading + (0 if on_gpu else step))


@lru_cache(maxsize=64)
def _bytes_of(configuration: str) -> tuple[int, int]:
    """Bytes of a step at its peak, and of what is read ahead."""
    from lab.launchers.background import preflight
    from lab.runs.building.parts import parts_of

    config = RunConfig.of(parse_yaml(configuration, "a run"))
    parts = parts_of(config)
    batch = preflight.first_batch(config, parts)
    ahead = preflight.read_ahead(config, batch, parts.loader.workers)
    return preflight.forecast(config, parts, batch.images, batch.labels).total, ahead
