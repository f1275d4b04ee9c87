"""Search indexes, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.search._base import Index

_catalog: "Catalog[Index]" = Catalog(__name__, __path__, "index")
names, get, create = _catalog.names, _catalog.get, _catalog.create
