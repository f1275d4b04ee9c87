"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Wrapper`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.wrappers._base import Wrapper

__all__ = ["Knobs", "Wrapper", "add", "create", "get", "knob", "names"]

_catalog = Catalog(__name__, __path__, "wrapper", base="lab.wrappers._base:Wrapper")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
__getattr__ = public(__name__, {"Wrapper": "lab.wrappers._base", "Knobs": "lab.core.knobs", "knob": "lab.core.knobs"})
