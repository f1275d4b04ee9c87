"""Data sets, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from lab.catalog import Catalog

_catalog = Catalog(__name__, __path__, "data set", helpers=("loading", "transforms"))
names, get, create = _catalog.names, _catalog.get, _catalog.create
