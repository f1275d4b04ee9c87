"""The catalogue that `lab.figures` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.figures._base import Figure

catalog: Catalog[Figure] = Catalog(
    "lab.figures", "figure", base="lab.figures._base:Figure", grouped=True
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
entries = catalog.entries
broken = catalog.broken
groups = catalog.groups
