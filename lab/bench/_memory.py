"""Peak memory of a piece of work, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.install import children

if TYPE_CHECKING:
    import psutil

Prepare = Callable[..., Callable[[], object]]
"""A function of a module that makes ready what is not to be counted, compiled code too, and returns the work."""


def extra_megabytes(prepare: Prepare, **arguments: Any) -> float:
    """MB that the work of `prepare(**arguments)` adds to what stood before it, at its peak, on one thread.

    Raises:
        RuntimeError: the work failed; its last line.
    """
    try:
        with ProcessPoolExecutor(1, _processes()) as pool:
            return pool.submit(_peak, prepare, arguments).result()
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise RuntimeError(f"{prepare.__name__}({arguments}) failed: {reason}") from None


@cache
def _processes() -> BaseContext:
    """Where forks are safe, copies of one process that has the libraries and did nothing yet.

    Large blocks go back to the system at once, so that it is what the work holds and not what the allocator hoards.
    """
    if not sys.platform.startswith("linux"):  # macOS has fork, but its libraries may end a process that went on
        return get_context("spawn")
    before = dict(os.environ)
    os.environ |= children.environment({"MALLOC_MMAP_THRESHOLD_": "1000000", "PYTHONSAFEPATH": "1"})
    try:
        forkserver.set_forkserver_preload(["lab.bench.losses"])
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ |= before
    return get_context("forkserver")


def _peak(prepare: Prepare, arguments: dict[str, Any]) -> float:
    """MB that this process holds at most while it works, beyond what it held before.

    Linux keeps the high-water mark, so that no moment is missed however busy the machine is; it is set back first,
    since compiling, which came before, stands higher. Elsewhere the process is looked at every 2 ms.
    """
    import psutil
    import torch

    torch.set_num_threads(1)
    work, process = prepare(**arguments), psutil.Process()
    start = process.memory_info().rss
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return (_watched(work, process) - start) / 1e6
    work()
    lines = Path("/proc/self/status").read_text().splitlines()
    return (next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 - start) / 1e6


def _watched(work: Callable[[], object], process: psutil.Process) -> int:
    """The most bytes that were seen while it worked."""
    with ThreadPoolExecutor(1) as pool:
        most, working = 0, pool.submit(work)
        while not working.done():
            most = max(most, process.memory_info().rss)
            time.sleep(0.002)
        working.result()
    return max(most, process.memory_info().rss)
