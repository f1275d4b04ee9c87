"""Several processes for one test, forked from one that has loaded torch and the library: to load them takes seconds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import torch.multiprocessing

LOADED = [
    "pytest", "numba", "sympy", "pytorch_metric_learning.losses",
    "lab.core.knobs", "lab.losses", "lab.wrappers", "lab.training.distributed",
]  # fmt: skip
"""What takes longest to load of what such tests use."""


def run(work: Callable[..., Any], given: tuple, count: int) -> None:
    """`work(rank, *given)` in that many processes; raises what one of them raises."""
    how = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    multiprocessing.set_forkserver_preload(LOADED)
    torch.multiprocessing.start_processes(work, given, nprocs=count, start_method=how)
