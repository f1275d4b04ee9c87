"""Change what Streamlit has no option for, as far as the installed version allows it.

These changes replace or read private names of Streamlit, which a newer version may rename. Each change first checks all
of its names. If one is missing, the dashboard starts without the change, and the log says so in one sentence.
"""

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

_log = logging.getLogger("rankscope.app")


@dataclass(frozen=True)
class Change:
    """A change to Streamlit.

    names: the private names that it needs, as "module:Class.name" or "module:name".
    apply: make the change.
    loss: what the dashboard lacks without it, as the end of a sentence.
    """

    names: tuple[str, ...]
    apply: Callable[[], None]
    loss: str


def apply(change: Change) -> bool:
    """Make a change, unless Streamlit lacks one of its names; return whether it was made."""
    missing = [name for name in change.names if not has(name)]
    if missing:
        _log.warning("Streamlit %s has no %s, so %s.", st.__version__, missing[0], change.loss)
        return False
    change.apply()
    return True


def has(name: str) -> bool:
    """Return whether the installed Streamlit has a name: of a module, of a class, or of the objects of a class."""
    module_name, _, path = name.partition(":")
    place: Any
    try:
        place = importlib.import_module(f"streamlit.{module_name}")
    except ImportError:
        return False
    owner, _, attribute = path.rpartition(".")
    if owner:
        place = getattr(place, owner, None)
    if place is None:
        return False
    if hasattr(place, attribute):
        return True
    # An attribute of objects: it is annotated in the class, or __init__ sets it.
    annotated = attribute in getattr(place, "__annotations__", {})
    code = getattr(getattr(place, "__init__", None), "__code__", None)
    return annotated or (code is not None and attribute in code.co_names)
