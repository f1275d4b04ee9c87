"""Choose the implementation: plain tensors everywhere, compiled tiles on the CPU, Triton kernels on CUDA.

The choice is made for every call and can be forced with `force` or the environment variable LAB_KERNELS. Small batches,
for which the others are not faster, and float64 always use plain tensors.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lab.core.files import setting
from lab.kernels.layout import shape_of

if TYPE_CHECKING:
    from lab.kernels.layout import Mixture
    from lab.surrogates import Surrogate

PATHS = ("plain", "compiled", "triton")
VARIABLE = "LAB_KERNELS"

BEST = {"cpu": "compiled", "cuda": "triton"}
"""The path of each kind of device; on others there are plain tensors only."""

SMALL = 256
"""Batches below this many ranked items take plain tensors."""

_forced: ContextVar[str | None] = ContextVar("forced", default=None)


def path(device: str | torch.device = "cpu") -> str:
    """Return the path of a large float32 batch on a device: `plain`, `compiled` or `triton`."""
    kind = torch.device(device).type
    requested = _requested()
    best = BEST.get(kind, "plain")
    if requested is None:
        return best if unavailable(best) is None else "plain"
    return requested if requested == best or (requested == "triton" and _interpreted()) else "plain"


def number(device: str | torch.device) -> int:
    """The path of a device as a number, for processes to compare: their tiles are alike on one path only.

    It is told by what is installed. Trying whether that compiles takes seconds, for which small batches do not wait.
    """
    best = BEST.get(torch.device(device).type, "plain")
    there = (
        best == "plain"
        or importlib.util.find_spec({"compiled": "numba", "triton": "triton"}[best]) is not None
    )
    return PATHS.index(_requested() or (best if there else "plain"))


@contextlib.contextmanager
def force(name: str | None) -> Iterator[None]:
    """Within the block, take this path wherever it knows the case, even for small batches; None lifts an outer force.
    Other threads go on as they were.

    Raises:
        ValueError: the path is unknown or not available here.
    """
    before = _forced.set(None if name is None else _checked(name))
    try:
        yield
    finally:
        _forced.reset(before)


def forced() -> bool:
    """Whether a path is set by `force` or by the environment."""
    return _requested() is not None


def _requested() -> str | None:
    if _forced.get() is not None:
        return _forced.get()
    named = setting("kernels")
    return _checked(named, f" (from {VARIABLE})") if named else None


def _checked(name: str, source: str = "") -> str:
    if name not in PATHS:
        raise ValueError(f"kernels: path must be one of {', '.join(PATHS)}, got {name!r}{source}.")
    why = unavailable(name)
    if why:
        raise ValueError(f"kernels: path {name!r}{source} is not available: {why}.")
    return name


@cache
def unavailable(name: str) -> str | None:
    """Explain why a path cannot run on this machine; None if it can."""
    if name == "compiled":
        return why_not("numba", "lab.kernels.cpu.ranks")
    if (
        name == "triton"
        and importlib.util.find_spec("triton")
        and not (torch.cuda.is_available() or _interpreted())
    ):
        return "there is no CUDA GPU"
    return why_not("triton", "lab.kernels.cuda.ranks") if name == "triton" else None


def _interpreted() -> bool:
    """Whether Triton is asked to interpret kernels on the CPU: slow, and meant for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def why_not(library: str, module: str) -> str | None:
    """Why a module of compiled code does not run here, or None; its `warm_up` is called, once."""
    if importlib.util.find_spec(library) is None:
        return f"{library} is not installed"
    try:
        importlib.import_module(module).warm_up()
    except (
        Exception
    ) as error:  # whatever stops a compiler or a driver must not stop a training or a search
        words = ": ".join([type(error).__name__, *str(error).strip().splitlines()[-1:]])
        return f"{library} does not compile here ({words})"
    return None


def compiles(part: str, rows: int) -> bool:
    """Whether compiled loops take a batch of so many rows in a further part of the CPU's path.

    part: a module of this package with a `warm_up`, which is tried once. A small batch does not wait for the compiler,
    unless it is forced to.
    """
    return (rows >= SMALL or forced()) and path("cpu") == "compiled" and runs_here(part)


def runs_here(part: str) -> bool:
    """Whether a further part of a path, a module of this package with a `warm_up`, runs here; tried once."""
    return why_not("torch", f"lab.kernels.{part}") is None


def choose(
    queries: Tensor,
    items: Tensor | None,
    mixture: Mixture | None,
    positives: Tensor,
    step: Surrogate | None,
    exclude_self: bool,
    against: bool,
    margin: float | None,
) -> str:
    """Choose the path of one call of the rank sums."""
    forced = _requested()
    ranked = len(queries) + (0 if mixture is None else len(mixture.parents))
    # asked first: learning whether numba compiles takes seconds
    exact = queries.dtype == torch.float64
    if not len(positives) or exact or forced == "plain" or (forced is None and ranked < SMALL):
        return "plain"
    chosen = path(queries.device)
    if queries.dtype != torch.float32 or shape_of(step) is None:
        return "plain"
    if chosen == "triton":  # whose sums are added up in no fixed order
        return "plain" if torch.are_deterministic_algorithms_enabled() else chosen
    return (
        chosen
        if chosen == "compiled" and _compiled_knows(queries, items, mixture, positives, against)
        else "plain"
    )


def _compiled_knows(
    queries: Tensor, items: Tensor | None, mixture: Mixture | None, positives: Tensor, against: bool
) -> bool:
    if items is not None or (against and not _symmetric(positives, len(queries))):
        return False
    if mixture is None:
        return True
    from lab.kernels.cpu.tiles import mixes_by_class

    return mixes_by_class(len(queries), mixture, positives)


def _symmetric(pairs: Tensor, n: int) -> bool:
    """Whether with every pair its reverse is listed, too."""
    a, b = pairs.numpy().T  # numpy sorts whole numbers ten times as quick as torch
    return np.array_equal(np.sort(a * n + b), np.sort(b * n + a))
