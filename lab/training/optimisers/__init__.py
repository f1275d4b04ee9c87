"""Optimisers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Optimiser`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.training.optimisers._base import Optimiser

__all__ = ["Optimiser", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Optimiser]" = Catalog(
    __name__, __path__, "optimiser", base="lab.training.optimisers._base:Optimiser"
)
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.training.optimisers import _entries
    from lab.training.optimisers._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
