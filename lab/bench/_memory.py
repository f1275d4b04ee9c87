"""Peak memory of one loss step, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

PROGRAM = """
import sys
import torch
from lab import losses
from lab.bench._memory import peak
from lab.bench.losses import batch
name, n, d, per_class, kind, knobs = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5], eval(sys.argv[6])
torch.set_num_threads(1)
loss = losses.create(name, **knobs)
def step(rows, labels):
    loss(rows.requires_grad_(), labels).backward()
step(*batch(512, 16, per_class, kind))  # compiles what has to be compiled
rows, labels = batch(n, d, per_class, kind)
print(peak(lambda: step(rows, labels)))
"""


def extra_megabytes(name: str, n: int, d: int, per_class: int, kind: str, **knobs) -> float:
    """MB that one forward and backward of a loss adds to its batch, the gradient [n d] included.

    Large blocks go back to the system at once, so that it is what the loss holds and not what the allocator hoards.
    """
    words = [name, n, d, per_class, kind, repr(knobs)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "1000000"},
    )
    if done.returncode:
        raise RuntimeError(f"measuring {name} at n={n} failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def peak(work: Callable[[], None]) -> float:
    """MB that the process holds at most while it works, beyond what it held before; looked at every 2 ms.

    The system's own high-water mark would not do: compiling, which came before, stands higher.
    """
    import psutil

    process, stop = psutil.Process(), threading.Event()
    start = most = process.memory_info().rss

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
    return (max(most, process.memory_info().rss) - start) / 1e6
