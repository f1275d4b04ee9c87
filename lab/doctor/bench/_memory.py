"""Peak memory of a piece of work, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from lab.core.installed import children

MMAP_THRESHOLD = -3
"""Number of glibc's option: blocks from this size on go back to the system as soon as they are free."""

LARGE = 1_000_000
"""Bytes of such a block, so that what is measured is what the work holds, and not what the allocator hoards."""

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
    """Where forks are safe, copies of one process that has the libraries and did nothing yet."""
    if not sys.platform.startswith("linux"):
        # macOS has fork, but its libraries may end a process that went on
        return get_context("spawn")
    before = dict(os.environ)
    os.environ |= children.environment({"PYTHONSAFEPATH": "1"})
    try:
        forkserver.set_forkserver_preload(["lab.doctor.bench.losses"])
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ |= before
    return get_context("forkserver")


def _peak(prepare: Prepare, arguments: dict[str, Any]) -> float:
    """MB that this process holds at most while it works, beyond what it held before.

    The system's high-water mark misses no moment, however busy the machine is. It is set back first where that can be,
    on Linux, since compiling, which came before, stands higher.
    """
    import psutil
    import torch

    torch.set_num_threads(1)
    with suppress(AttributeError, OSError):  # glibc alone has it
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE)
    work = prepare(**arguments)
    start = psutil.Process().memory_info().rss
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    work()
    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return (most - start) / 1e6
