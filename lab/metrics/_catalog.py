"""The catalogue that `lab.metrics` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.metrics._base import Metric

catalog: Catalog[Metric] = Catalog("lab.metrics", "metric", base="lab.metrics._base:Metric")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
entries = catalog.entries
broken = catalog.broken
