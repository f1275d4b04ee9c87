"""Random state: a function of (seed, key) at the beginning of a step, captured and replayed for repeated passes.

A run that seeds every step by its number has no random state to store: a resumed run draws the same numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

ENCODER = 1
LOSS = 2
"""Streams: parts of a step that draw independently, so that one part never changes the numbers of another."""


def mixed_seed(seed: int, *key: int) -> int:
    """Return a 63-bit seed of a run's seed and a key such as (stream, step). Equal keys give equal seeds."""
    return int(np.random.SeedSequence([seed, *key]).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def seeded(seed: int, *key: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Seed torch (CPU and `device`), numpy and Python inside the block; the caller's random state returns after it."""
    mixed = mixed_seed(seed, *key)
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    with torch.random.fork_rng(devices=_indices(device)):
        if torch.device(device).type == "cpu":
            # `torch.manual_seed` also records every call for CUDA
            torch.default_generator.manual_seed(mixed)
        else:
            torch.manual_seed(mixed)
        random.seed(mixed)
        np.random.seed(mixed % 2**32)
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)


@dataclass(frozen=True)
class RandomState:
    """Torch's random state on the CPU and on one device, taken before a forward pass that will be repeated."""

    cpu: torch.Tensor
    device: torch.Tensor | None
    index: tuple[int, ...]

    @classmethod
    def capture(cls, device: torch.device | str = "cpu") -> RandomState:
        index = _indices(device)
        device_state = torch.cuda.get_rng_state(index[0]) if index else None
        return cls(torch.get_rng_state(), device_state, index)

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Repeat the draws after `capture`; the state from before the block returns after it."""
        with torch.random.fork_rng(devices=self.index):
            torch.set_rng_state(self.cpu)
            if self.device is not None:
                torch.cuda.set_rng_state(self.device, self.index[0])
            yield


@contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for deterministic algorithms inside the block; operators that have none warn instead of failing.

    New tensors are not filled with NaN first, as torch does by default then: that would only reveal a tensor that is
    read before it is written, and doubles the writing.
    """
    before = torch.get_deterministic_debug_mode()
    filling: Any = torch.utils.deterministic  # whose stubs lack the attribute
    benchmark = torch.backends.cudnn.benchmark
    filled = filling.fill_uninitialized_memory
    # `use_deterministic_algorithms` would load torch's compiler
    torch.set_deterministic_debug_mode("warn")
    torch.backends.cudnn.benchmark = False
    filling.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.backends.cudnn.benchmark = benchmark
        filling.fill_uninitialized_memory = filled


def _indices(device: torch.device | str) -> tuple[int, ...]:
    device = torch.device(device)
    if device.type != "cuda":
        return ()
    return (torch.cuda.current_device() if device.index is None else device.index,)
