"""Peak memory of one loss step, taken in a process of its own, where nothing else lends or returns pages."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource, sys
import torch
from lab import losses
from lab.bench.losses import batch
name, n, d, per_class, kind, knobs = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5], eval(sys.argv[6])
torch.set_num_threads(1)
loss = losses.create(name, **knobs)
def step(rows, labels):
    rows = rows.requires_grad_()
    loss(rows, labels).backward()
step(*batch(512, d, per_class, kind))
rows, labels = batch(n, d, per_class, kind)
unit = 1 if sys.platform == 'darwin' else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
now = int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() if sys.platform == 'linux' else before
step(rows, labels)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - now) / 1e6)
"""


def extra_megabytes(name: str, n: int, d: int, per_class: int, kind: str, **knobs) -> float:
    """MB that one forward and backward of a loss adds to its batch, the gradient [n d] included."""
    words = [name, n, d, per_class, kind, repr(knobs)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"measuring {name} at n={n} failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)
