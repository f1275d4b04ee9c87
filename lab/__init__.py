"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what an editor completes; at run time each is loaded when it is first named
    from lab import (
        claims,
        core,
        data,
        encoders,
        evaluation,
        exporters,
        figures,
        galleries,
        inspect,
        install,
        kernels,
        launchers,
        losses,
        maps,
        metrics,
        model,
        papers,
        protocols,
        report,
        reranking,
        runs,
        samplers,
        search,
        surrogates,
        sweeps,
        teaching,
        training,
        trials,
        widgets,
        wrappers,
    )
    from lab.evaluation import evaluate
    from lab.model import load
    from lab.runs.custom.resume import resume
    from lab.runs.custom.train import train

__version__ = "0.2.0"

_FUNCTIONS = {
    "evaluate": "lab.evaluation",
    "load": "lab.model",
    "resume": "lab.runs.custom.resume",
    "train": "lab.runs.custom.train",
}
"""What can be called as `lab.NAME(...)`, and where it is defined."""


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    if name in _parts():
        return importlib.import_module(f"lab.{name}")
    raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(_parts())}")


def __dir__() -> list[str]:
    return [*globals(), *_FUNCTIONS, *_parts()]


@functools.cache
def _parts() -> list[str]:
    """What lies in this folder, by name."""
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
