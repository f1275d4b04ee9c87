"""The catalogue that `lab.exporters` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.exporters._base import Exporter

catalog: Catalog[Exporter] = Catalog(
    "lab.exporters", "exporter", base="lab.exporters._base:Exporter"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
