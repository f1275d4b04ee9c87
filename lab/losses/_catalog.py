"""The catalogue that `lab.losses` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.losses._base import Loss

catalog: Catalog[Loss] = Catalog("lab.losses", "loss", base="lab.losses._base:Loss")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
entries = catalog.entries
broken = catalog.broken
