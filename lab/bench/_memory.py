"""Peak memory of a piece of work, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psutil

Prepare = Callable[..., Callable[[], object]]
"""A function of a module that makes ready what is not to be counted, compiled code too, and returns the work."""


def extra_megabytes(prepare: Prepare, **arguments: Any) -> float:
    """MB that the work of `prepare(**arguments)` adds to what stood before it, at its peak, on one thread.

    Each work has a process of its own, a copy of one that has the libraries and did nothing yet, so that only the first
    waits for them. Large blocks go back to the system at once, so that it is what the work holds and not what the
    allocator hoards.

    Raises:
        RuntimeError: the work failed; its last line.
    """
    with ProcessPoolExecutor(1, mp_context=_processes()) as pool:
        try:
            return pool.submit(_measured, partial(prepare, **arguments)).result()
        except BrokenProcessPool:
            reason = "its process was ended"
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    raise RuntimeError(f"{prepare.__name__}({arguments}) failed: {reason}")


@cache
def _processes() -> BaseContext:
    """Copies of a process that has loaded torch; where that is not safe, new ones."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "lab.losses"])
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "1000000")  # blocks of so many bytes are the system's own
    forkserver.ensure_running()
    return context


def _measured(prepare: Callable[[], Callable[[], object]]) -> float:
    import torch

    torch.set_num_threads(1)
    os.dup2(2, 1)  # what a work prints is no answer
    return peak(prepare())


def peak(work: Callable[[], object]) -> float:
    """MB that the process holds at most while it works, beyond what it held before.

    Linux keeps the high-water mark, so that no moment is missed however busy the machine is; it is set back first,
    since compiling, which came before, stands higher. Elsewhere the process is looked at every 2 ms.
    """
    import psutil

    process = psutil.Process()
    start = process.memory_info().rss
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return (_watched(work, process, start) - start) / 1e6
    work()
    lines = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
    return (most - start) / 1e6


def _watched(work: Callable[[], object], process: psutil.Process, most: int) -> int:
    """The most bytes that were seen while it worked."""
    stop = threading.Event()

    def watch() -> None:
        nonlocal most
        while not stop.wait(0.002):
            most = max(most, process.memory_info().rss)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        work()
    finally:
        stop.set()
        watcher.join()
    return max(most, process.memory_info().rss)
