"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

from __future__ import annotations

import importlib
import pkgutil

__version__ = "0.1.0"


def __getattr__(name: str):
    if name in _parts():
        return importlib.import_module(f"lab.{name}")
    raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(_parts())}")


def __dir__():
    return [*globals(), *_parts()]


def _parts() -> list[str]:
    """What lies in this folder, by name."""
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
