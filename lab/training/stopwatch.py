"""Measure the parts of a training step."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch

PARTS = ("waiting for images", "encoder", "loss", "backward", "optimiser")
"""Parts in the order of a step. Waiting is for images that are not loaded yet; `loss` is the loss, forward and back to
the embeddings; `backward` is the encoder's, with the second pass of a large batch."""
REST = "everything else"


class Stopwatch:
    """Seconds of one step by part. On a GPU, events of its own clock measure the parts, without waiting."""

    def __init__(self, device: torch.device):
        self._on_gpu = device.type == "cuda"
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Count the block as `part`; blocks of one part add up."""
        if self._on_gpu and part != PARTS[0]:
            first = torch.cuda.Event(enable_timing=True)
            last = torch.cuda.Event(enable_timing=True)
            first.record()
            yield
            last.record()
            self._events.append((part, first, last))
        else:
            started = time.perf_counter()
            yield
            self._seconds[part] += time.perf_counter() - started

    def seconds(self, step: float) -> dict[str, float]:
        """Return the seconds of each part, and the rest of a step's seconds; on a GPU it waits for the step's end."""
        for part, first, last in self._events:
            last.synchronize()
            self._seconds[part] += first.elapsed_time(last) / 1e3
        self._events.clear()
        rest = max(0.0, step - sum(self._seconds.values()))
        return {part: round(seconds, 6) for part, seconds in {**self._seconds, REST: rest}.items()}


def summed(steps: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sum the seconds of each part over many steps.

    >>> summed([{"encoder": 1.0}, {"encoder": 2.0, "loss": 0.5}])
    {'encoder': 3.0, 'loss': 0.5}
    """
    whole: dict[str, float] = {}
    for spent in steps:
        for part, seconds in spent.items():
            whole[part] = whole.get(part, 0.0) + seconds
    return whole


def in_words(spent: Mapping[str, float]) -> str:
    """Return a sentence on the shares of the parts in many steps, the largest first; empty without any seconds.

    >>> in_words({"encoder": 5.0, "loss": 2.0, "backward": 2.5, "everything else": 0.5})
    'Time of the steps: encoder 50 %, backward 25 %, loss 20 %, everything else 5 %.'
    """
    whole = sum(spent.values())
    if not whole:
        return ""
    shares = []
    for part in sorted(spent, key=lambda part: -spent[part]):
        shares.append(f"{part} {100 * spent[part] / whole:.0f} %")
    return f"Time of the steps: {', '.join(shares)}."
