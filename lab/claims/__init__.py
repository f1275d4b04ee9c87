"""Do the papers' claims hold here? One file a study: a claim, the trainings that try it, the numbers that decide.

`lab claims run` makes the trainings, each once, and can be stopped and resumed at any time; `lab claims report` tells
in docs/claims.md what came of them. A study is added by adding a file that defines `STUDY`.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING

from lab.claims._study import Study
from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.claims._report import report
    from lab.claims._sweep import state, sweep, wanted

__all__ = ["ORDER", "Study", "get", "names", "report", "state", "sweep", "wanted"]

__getattr__ = public(
    __name__, {"report": "lab.claims._report", **dict.fromkeys(("state", "sweep", "wanted"), "lab.claims._sweep")}
)


def names() -> tuple[str, ...]:
    """Names of all studies, in the order in which a sweep runs them: by their turn."""
    return tuple(sorted(_files(), key=lambda name: (get(name).turn, name)))


def _files() -> list[str]:
    return [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]


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
    module = importlib.import_module(f"{__name__}.{name}")
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise ImportError(f"{module.__file__} must define STUDY, a lab.claims.Study, to be a study.")
    return study
