"""The catalogue that `lab.wrappers` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.wrappers._base import Wrapper

catalog: Catalog[Wrapper] = Catalog("lab.wrappers", "wrapper", base="lab.wrappers._base:Wrapper")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
