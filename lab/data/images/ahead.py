"""How many processes load images ahead of whoever needs them, where nobody says."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from lab.core.formats import MB

BESIDE_GPU = 8
"""Most processes beside a GPU."""

BESIDE_CPU = 4
"""Most processes where the processor trains as well; one for each four of its cores."""

A_PROCESS = 200 * MB
"""Memory that a forked process takes for itself, before it holds any image."""

SHARE = 4
"""Images that are loaded ahead may take one part in so many of the free memory."""

_reserved: int | None = None


def forks() -> bool:
    """Whether a new process is a copy of this one, ready at once; started anew, it loads its libraries for seconds."""
    return (multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]) == "fork"


def cores() -> int:
    """Cores of the processor that this process may use, divided among the processes of one training on this machine."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    usable = usable if _reserved is None else min(usable, _reserved)
    return usable // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


@contextmanager
def reserved(count: int) -> Iterator[None]:
    """Let `cores` be `count` at most: a cluster has reserved so many for this process, and keeps it from no other."""
    global _reserved
    before, _reserved = _reserved, count
    try:
        yield
    finally:
        _reserved = before


def num_workers(on_gpu: bool, in_memory: bool, part: int) -> int:
    """How many processes load images ahead of a training that does not say.

    A GPU trains so quickly that images come late from one process, even those that are decoded already; so there all
    cores but one load, up to `BESIDE_GPU`. On a processor the same cores train: images in memory are cropped between
    two steps, and for others one core in four decodes ahead. None is started that memory has no room for, nor where
    processes are started anew instead of forked, nor from a thread beside others (a page of the dashboard), whose locks
    a copy of the process would find taken for ever.

    Args:
        on_gpu: the training runs on a GPU.
        in_memory: images lie decoded in memory.
        part: bytes of the images that are loaded at once, one byte a colour.
    """
    if not forks() or threading.current_thread() is not threading.main_thread():
        return 0
    wanted = min(BESIDE_GPU, cores() - 1) if on_gpu else 0 if in_memory else min(BESIDE_CPU, cores() // 4)
    room = psutil.virtual_memory().available // SHARE // (A_PROCESS + 2 * part)
    return max(0, min(wanted, room))
