"""The catalogue that `lab.encoders` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.encoders._base import Encoder

catalog: Catalog[Encoder] = Catalog("lab.encoders", "encoder", base="lab.encoders._base:Encoder")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
