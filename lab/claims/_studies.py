"""The studies by name: a file of this folder that defines `STUDY` is one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from pathlib import Path

from lab.claims._study import Study


def names() -> tuple[str, ...]:
    """Names of all studies, in the order in which a sweep runs them: by their turn."""
    return tuple(sorted(_files(), key=lambda name: (get(name).turn, name)))


def _files() -> list[str]:
    return [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_")]


def get(name: str) -> Study:
    """The study of that name.

    Raises:
        ValueError: there is none; lists those there are.
        ImportError: its file defines no `STUDY`; names the file.
    """
    if name not in _files():
        near = difflib.get_close_matches(str(name), _files(), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no study {name!r}.{hint} Known: {', '.join(_files())}.")
    module = importlib.import_module(f"lab.claims.{name}")
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise ImportError(f"{module.__file__} must define STUDY, a lab.claims.Study, to be a study.")
    return study
