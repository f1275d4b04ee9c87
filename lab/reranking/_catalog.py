"""The catalogue that `lab.reranking` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.reranking._base import Reranker

catalog: Catalog[Reranker] = Catalog(
    "lab.reranking", "re-ranker", base="lab.reranking._base:Reranker"
)
names = catalog.names
get = catalog.get
create = catalog.create
add = catalog.add
broken = catalog.broken
