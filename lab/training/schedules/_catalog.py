"""The catalogue that `lab.training.schedules` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.training.schedules._base import Schedule

catalog: Catalog[Schedule] = Catalog(
    "lab.training.schedules", "schedule", base="lab.training.schedules._base:Schedule"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
