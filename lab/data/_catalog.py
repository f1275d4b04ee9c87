"""The catalogue that `lab.data` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.data._base import ImageSet

catalog: Catalog[ImageSet] = Catalog("lab.data", "data set", base="lab.data._base:ImageSet")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
entries = catalog.entries
broken = catalog.broken
