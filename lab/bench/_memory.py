"""Peak memory of a piece of work, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.install import children

if TYPE_CHECKING:
    import psutil

PROGRAM = """
import json, sys
from importlib import import_module
import torch
from lab.bench._memory import peak
module, name, arguments = sys.argv[1:]
torch.set_num_threads(1)
print(peak(getattr(import_module(module), name)(**json.loads(arguments))))
"""

Prepare = Callable[..., Callable[[], object]]
"""A function of a module that makes ready what is not to be counted, compiled code too, and returns the work."""


def extra_megabytes(prepare: Prepare, **arguments: Any) -> float:
    """MB that the work of `prepare(**arguments)` adds to what stood before it, at its peak, on one thread.

    Large blocks go back to the system at once, so that it is what the work holds and not what the allocator hoards.

    Raises:
        RuntimeError: the work failed; its last line.
    """
    done = subprocess.run(
        children.python("-c", PROGRAM, prepare.__module__, prepare.__name__, json.dumps(arguments)),
        capture_output=True,
        text=True,
        check=False,
        env=children.environment({"MALLOC_MMAP_THRESHOLD_": "1000000"}),
    )
    if done.returncode:
        raise RuntimeError(f"{prepare.__name__}({arguments}) failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout.splitlines()[-1])


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
