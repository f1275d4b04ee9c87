"""Batch samplers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Sampler`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.samplers._base import Sampler, released_epoch

__all__ = ["Knobs", "Sampler", "add", "broken", "create", "get", "knob", "names", "released_epoch"]

_catalog: "Catalog[Sampler]" = Catalog(__name__, __path__, "sampler", base="lab.samplers._base:Sampler")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
__getattr__ = public(__name__)
