"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

import importlib

__version__ = "0.1.0"

_SUBPACKAGES = (
    "data", "encoders", "estimates", "figures", "inspect", "kernels", "losses", "maps", "metrics", "protocols",
    "published", "recipes", "report", "reranking", "runs", "samplers", "search", "surrogates", "teaching", "training",
    "widgets", "wrappers",
)  # fmt: skip


def __getattr__(name: str):
    if name in _SUBPACKAGES:
        return importlib.import_module(f"lab.{name}")
    raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(_SUBPACKAGES)}")


def __dir__():
    return [*globals(), *_SUBPACKAGES]
