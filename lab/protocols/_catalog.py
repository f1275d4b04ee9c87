"""The catalogue that `lab.protocols` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.protocols._base import Protocol

catalog: Catalog[Protocol] = Catalog(
    "lab.protocols", "protocol", base="lab.protocols._base:Protocol"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
entries = catalog.entries
broken = catalog.broken
