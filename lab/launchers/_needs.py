"""Resources that a run needs: processors, GPUs, memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lab.runs.config import RunConfig, parse_yaml

PROCESS = 700_000_000
"""Bytes of a process that has imported torch and this library, before it loads any image."""

AHEAD = 3
"""Assumed processes that load images ahead of a run on a GPU, if neither the run nor the machine decides."""

INDIFFERENT = (
    "seed",
    "steps",
    "validate_every",
    "checkpoint_every",
    "device",
    "clip",
    "keep_frames",
    "select_by",
)
UNLIKE = ("optimiser", "schedule", "metrics", "evaluation")
"""Knobs of training, and sections, that do not change the resources of a step."""


@dataclass(frozen=True)
class Needs:
    """cpus: of the machine. gpus: 0 or 1. memory: bytes of the machine's own memory."""

    cpus: int
    gpus: int
    memory: int


def needs_of(config: RunConfig, gpus: bool, memory: float | None = None) -> Needs:
    """Return the resources of one run. A run with device `cpu` takes no GPU.

    Args:
        gpus: whether the target has any.
        memory: in GB, if given; else the model is built, and the pre-flight forecasts a step of one batch. Runs that
            differ in seed, length or learning rate share a forecast.

    Raises:
        ValueError: the run cannot be built at all.
    """
    knobs = config.training.knobs
    on_gpu = gpus and knobs.device != "cpu"
    workers = knobs.workers
    if workers is None:
        workers = AHEAD if on_gpu else 0
    if memory is not None:
        return Needs(1 + workers, int(on_gpu), int(memory * 1e9))
    # Runs that differ only in what a step does not need have one key, and so one forecast.
    sections = {name: value for name, value in config.as_dict().items() if name not in UNLIKE}
    training = {
        name: value for name, value in sections["training"].items() if name not in INDIFFERENT
    }
    sections["training"] = {**training, "device": "cpu", "workers": workers}
    step, loading = _bytes_of(RunConfig.of(sections).as_yaml())
    needed = PROCESS * (1 + workers) + loading
    if not on_gpu:
        needed += step
    return Needs(1 + workers, int(on_gpu), needed)


@lru_cache(maxsize=64)
def _bytes_of(configuration: str) -> tuple[int, int]:
    """Return the bytes of a step at its peak, and of the images that are read ahead."""
    from lab.launchers.background import preflight
    from lab.runs.building.parts import parts_of

    config = RunConfig.of(parse_yaml(configuration, "a run"))
    parts = parts_of(config)
    batch = preflight.first_batch(config, parts)
    ahead = preflight.read_ahead(config, batch, parts.loader.workers)
    return preflight.forecast(config, parts, batch.images, batch.labels).total, ahead
