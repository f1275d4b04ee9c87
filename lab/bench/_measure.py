"""One row of the benchmark, and how times and memory are taken."""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measured number.

    section: metrics, search, ...; name: what was measured; setting: sizes and kind of data.
    value, unit: the number, in s, ms, us, x (a ratio), MB or as a plain share.
    against: what a ratio compares with; goal: the number aimed at, None where there is none.
    """

    section: str
    name: str
    setting: str
    value: float
    unit: str
    against: str = ""
    goal: float | None = None


def medians(
    works: dict[str, Callable[[], Any]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each work. The works take turns, so that a busy moment hits all of them alike; each runs once
    before the clock starts. Give `time.process_time` where other work shares the machine."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            start = clock()
            work()
            taken[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """Yields a function that gives, after the block, the most MB that the process held beyond its start."""
    import psutil

    process, stop = psutil.Process(), threading.Event()
    gc.collect()
    start = most = process.memory_info().rss

    def watch() -> None:
        nonlocal most
        while not stop.wait(0.005):
            most = max(most, process.memory_info().rss)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: (most - start) / 1e6
    finally:
        most = max(most, process.memory_info().rss)
        stop.set()
        watcher.join()
