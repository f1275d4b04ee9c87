"""Image encoders, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.encoders._base import Encoder

_catalog: "Catalog[Encoder]" = Catalog(__name__, __path__, "encoder")
names, get, create = _catalog.names, _catalog.get, _catalog.create
