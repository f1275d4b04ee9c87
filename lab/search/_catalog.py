"""The catalogue that `lab.search` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.search._base import Index

catalog: Catalog[Index] = Catalog("lab.search", "index", base="lab.search._base:Index")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
