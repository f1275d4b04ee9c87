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
        adaptation as adaptation,
        claims as claims,
        core as core,
        data as data,
        encoders as encoders,
        evaluation as evaluation,
        exporters as exporters,
        figures as figures,
        inspect as inspect,
        kernels as kernels,
        launchers as launchers,
        losses as losses,
        maps as maps,
        metrics as metrics,
        model as model,
        papers as papers,
        playground as playground,
        protocols as protocols,
        report as report,
        reranking as reranking,
        runs as runs,
        samplers as samplers,
        search as search,
        serving as serving,
        surrogates as surrogates,
        sweeps as sweeps,
        teaching as teaching,
        threshold as threshold,
        training as training,
        verdict as verdict,
        widgets as widgets,
        wrappers as wrappers,
    )
    from lab.search import galleries as galleries
    from lab.core import installed as install
    from lab.figures import measured as trials
    from lab.adaptation import adapt as adapt
    from lab.core.results import EmbeddingSet as EmbeddingSet
    from lab.evaluation import evaluate as evaluate
    from lab.model import load as load
    from lab.runs.custom.train import resume as resume
    from lab.runs.custom.train import train as train

__version__ = "0.2.0"

_FUNCTIONS = {
    "EmbeddingSet": "lab.core.results",
    "adapt": "lab.adaptation",
    "evaluate": "lab.evaluation",
    "load": "lab.model",
    "resume": "lab.runs.custom.train",
    "train": "lab.runs.custom.train",
}
"""What can be called as `lab.NAME(...)`, and where it is defined."""


if not TYPE_CHECKING:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name in _FUNCTIONS:
            return getattr(importlib.import_module(_FUNCTIONS[name]), name)
        if name in _parts():
            return importlib.import_module(f"lab.{name}")
        raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(_parts())}")


def __dir__() -> list[str]:
    return sorted({*_FUNCTIONS, *_parts(), "__version__"})


@functools.cache
def _parts() -> list[str]:
    """What lies in this folder, by name."""
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
