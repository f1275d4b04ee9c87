"""Peak memory of a piece of work, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.install import children

if TYPE_CHECKING:
    import psutil

PROGRAM = "from lab.bench._memory import serve; serve()"

Prepare = Callable[..., Callable[[], object]]
"""A function of a module that makes ready what is not to be counted, compiled code too, and returns the work."""

_servers: dict[str | None, subprocess.Popen[str]] = {}
"""The process that measures, by the PYTHONPATH that it was started with."""


def extra_megabytes(prepare: Prepare, **arguments: Any) -> float:
    """MB that the work of `prepare(**arguments)` adds to what stood before it, at its peak, on one thread.

    Each work has a process of its own, a copy of one that has the libraries and did nothing yet, so that only the first
    waits for them. Large blocks go back to the system at once, so that it is what the work holds and not what the
    allocator hoards.

    Raises:
        RuntimeError: the work failed; its last line.
    """
    server = _server()
    print(json.dumps([prepare.__module__, prepare.__name__, arguments]), file=server.stdin, flush=True)
    line = server.stdout.readline() if server.stdout else ""
    answer = json.loads(line) if line else {"failed": "its process ended"}
    if "failed" in answer:
        raise RuntimeError(f"{prepare.__name__}({arguments}) failed: {answer['failed']}")
    return float(answer["MB"])


def _server() -> subprocess.Popen[str]:
    path = os.environ.get("PYTHONPATH")
    if path not in _servers or _servers[path].poll() is not None:
        _servers[path] = subprocess.Popen(
            children.python("-c", PROGRAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=children.environment({"MALLOC_MMAP_THRESHOLD_": "1000000"}),
        )
        atexit.register(_servers[path].communicate)
    return _servers[path]


def serve() -> None:
    """Answer requests from standard input, a line each, with megabytes; where forks are not safe, one request."""
    import torch

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a work prints is no answer
    for line in sys.stdin:
        module, name, arguments = json.loads(line)
        forks = sys.platform.startswith("linux")  # macOS has fork, but its libraries may end a process that went on
        answer: dict[str, Any] = {}
        try:
            prepare = getattr(import_module(module), name)
            child = os.fork() if forks else 0
            if child:
                if os.waitpid(child, 0)[1]:
                    print(json.dumps({"failed": "its process was ended"}), file=answers, flush=True)
                continue
            answer["MB"] = peak(prepare(**arguments))
        except Exception as error:
            answer["failed"] = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        print(json.dumps(answer), file=answers, flush=True)
        os._exit(0)


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
