"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A wrapper of one's own derives from `Wrapper`: `from lab.wrappers import Batch, Wrapper, knob`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.kernels.memory import Peak
    from lab.losses import Batch
    from lab.wrappers._base import Wrapper

__all__ = ["Batch", "Peak", "Wrapper", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Wrapper]" = Catalog(__name__, __path__, "wrapper", base="lab.wrappers._base:Wrapper")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.wrappers import _entries
    from lab.wrappers._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
