"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what an editor completes; at run time each is loaded when it is first named
    from lab import (
        data,
        encoders,
        figures,
        inspect,
        kernels,
        losses,
        maps,
        metrics,
        protocols,
        report,
        reranking,
        runs,
        samplers,
        search,
        surrogates,
        teaching,
        training,
        widgets,
        wrappers,
    )
    from lab.core import estimates
    from lab.papers import recipes, tables

__version__ = "0.2.0"

_SUBPACKAGES = (
    "data", "encoders", "estimates", "figures", "inspect", "kernels", "losses", "maps", "metrics", "protocols",
    "published", "recipes", "report", "reranking", "runs", "samplers", "search", "surrogates", "teaching", "training",
    "widgets", "wrappers",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"lab.{name}")
    raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(_SUBPACKAGES)}")


def __dir__() -> list[str]:
    return [*globals(), *_SUBPACKAGES]
