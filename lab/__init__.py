"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

from typing import Any

import lazy_loader

__version__ = "0.2.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        from lab.core.explain import missing

        sentence = missing(error)
        if sentence is None:
            raise
        raise ModuleNotFoundError(sentence, name=error.name) from None
