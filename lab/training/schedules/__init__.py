"""Learning-rate schedules, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Schedule`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.training.schedules._base import Schedule

__all__ = ["Schedule", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Schedule]" = Catalog(__name__, __path__, "schedule", base="lab.training.schedules._base:Schedule")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.training.schedules import _entries
    from lab.training.schedules._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
