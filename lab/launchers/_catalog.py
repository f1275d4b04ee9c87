"""The catalogue that `lab.launchers` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.launchers._base import Launcher

catalog: Catalog[Launcher] = Catalog(
    "lab.launchers", "launcher", base="lab.launchers._base:Launcher"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
