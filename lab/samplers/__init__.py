"""Batch samplers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Sampler`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.samplers._base import Sampler

__all__ = ["Sampler", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Sampler]" = Catalog(__name__, __path__, "sampler", base="lab.samplers._base:Sampler")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.samplers import _entries
    from lab.samplers._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
