"""Search indexes, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Index`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.search._base import Index, IndexKnobs

__all__ = ["Index", "IndexKnobs", "Knobs", "add", "create", "get", "knob", "names"]

_catalog: "Catalog[Index]" = Catalog(__name__, __path__, "index", base="lab.search._base:Index")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
__getattr__ = public(
    __name__,
    {
        "Index": "lab.search._base",
        "IndexKnobs": "lab.search._base",
        "Knobs": "lab.core.knobs",
        "knob": "lab.core.knobs",
    },
)
