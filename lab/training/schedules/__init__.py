"""Learning-rate schedules, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import Any

from lab.core.catalog import Catalog

_catalog: "Catalog[Any]" = Catalog(__name__, __path__, "schedule")
names, get, create = _catalog.names, _catalog.get, _catalog.create
