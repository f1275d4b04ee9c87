"""The catalogue that `lab.training.optimisers` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.training.optimisers._base import Optimiser

catalog: Catalog[Optimiser] = Catalog(
    "lab.training.optimisers", "optimiser", base="lab.training.optimisers._base:Optimiser"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
