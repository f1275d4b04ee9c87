"""How many threads of the processor a training takes. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.runs.config import RunConfig

SMALL = ("small_cnn",)
"""Encoders whose steps are so short that a second thread gains little. On a busy machine it costs much: threads that
share a step wait for each other, and 150 steps of a head took 433 s with two threads, 10.5 s with one."""


def usable_cores() -> int:
    """Return how many cores of the processor this process may use."""
    import psutil

    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):  # not on macOS
        return len(process.cpu_affinity())
    return psutil.cpu_count() or 1


def is_small(config: RunConfig) -> bool:
    """Return whether one thread does all the work of a run."""
    return config.encoder.name in SMALL


def training_threads(config: RunConfig, available: int) -> int:
    """Return how many of the available threads do the steps of a training on the processor.

    One thread trains a small network, or a head on stored features; all threads embed images with a large network.
    """
    return 1 if is_small(config) or config.encoder.name == "adapted" else available


@contextmanager
def limited(threads: int, device: str) -> Iterator[None]:
    """Limit the threads of torch within the block, on the processor; on a GPU their number stays."""
    import torch

    before = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(min(threads, before))
    try:
        yield
    finally:
        torch.set_num_threads(before)
