"""Several processes for one test, forked from one that has loaded torch and the library: to load them takes seconds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import torch.multiprocessing

import lab

LOADED = [
    "pytest", "numba", "sympy", "pytorch_metric_learning.losses",
    "lab.core.knobs", "lab.losses", "lab.wrappers", "lab.training.distributed",
]  # fmt: skip
"""What takes longest to load of what such tests use."""


def run(work: Callable[..., Any], given: tuple, count: int) -> None:
    """`work(rank, *given)` in that many processes; raises what one of them raises."""
    how = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    multiprocessing.set_forkserver_preload(LOADED)
    here = os.path.realpath(lab.__file__)
    torch.multiprocessing.start_processes(
        _of_this_checkout, (here, work, given), nprocs=count, start_method=how
    )


def _of_this_checkout(rank: int, library: str, work: Callable[..., Any], given: tuple) -> None:
    """Work, unless another library than the test's was loaded: Python 3.11 looks for what it loads beforehand in the
    folder, on the PYTHONPATH and among what is installed, whatever pytest put before them."""
    loaded = os.path.realpath(lab.__file__)
    if loaded != library:
        raise ImportError(
            f"The test is of {library}, but {loaded} was loaded. Start pytest in the test's own checkout."
        )
    work(rank, *given)
