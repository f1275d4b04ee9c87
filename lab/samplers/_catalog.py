"""The catalogue that `lab.samplers` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.samplers._base import Sampler

catalog: Catalog[Sampler] = Catalog("lab.samplers", "sampler", base="lab.samplers._base:Sampler")
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
