"""Batch samplers, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.samplers._base import Sampler

_catalog: "Catalog[Sampler]" = Catalog(__name__, __path__, "sampler")
names, get, create = _catalog.names, _catalog.get, _catalog.create
