"""Protocols, one file each: `names()`, `create(name, **knobs)`, `get(name)`.

A protocol says which runs a number needs, what is measured on them, and how far the number can be trusted.
`create(name).judge(run)` measures a finished run; `create(name).conduct(config, Bench(folder))` trains what is needed,
too, and goes on where it was interrupted. Both are generators of records that return an `Outcome`.
"""

from typing import Any

from lab.core.catalog import Catalog

_catalog: "Catalog[Any]" = Catalog(__name__, __path__, "protocol")
names, get, create = _catalog.names, _catalog.get, _catalog.create
