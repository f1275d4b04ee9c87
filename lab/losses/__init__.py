"""Losses, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.losses._base import Loss

_catalog: "Catalog[Loss]" = Catalog(__name__, __path__, "loss")
names, get, create = _catalog.names, _catalog.get, _catalog.create
