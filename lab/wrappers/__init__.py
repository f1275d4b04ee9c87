"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.wrappers._base import Wrapper

_catalog: "Catalog[Wrapper]" = Catalog(__name__, __path__, "wrapper")
names, get, create = _catalog.names, _catalog.get, _catalog.create
