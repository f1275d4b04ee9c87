"""Re-rankers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Reranker`.

Example:
    >>> import lab, numpy as np
    >>> angles = np.radians([5, 18, 30, 32.1, 34, 36.5])
    >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1, dtype=np.float32)
    >>> images = lab.EmbeddingSet(vectors, [0, 0, 1, 1, 1, 1])
    >>> ranking = lab.search.create("exact", k=3).build(images).rank(images, same_source=True)
    >>> ranking.neighbours[1]  # at 18 degrees the edge of the crowd is nearest, image 0 second
    array([2, 0, 3])
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.reranking._base import Reranker, neighbour_lists, nodes, ranked_by

__all__ = [
    "Reranker", "add", "broken", "create", "get", "knob", "names", "neighbour_lists", "nodes", "ranked_by",
]  # fmt: skip

_catalog: "Catalog[Reranker]" = Catalog(__name__, __path__, "re-ranker", base="lab.reranking._base:Reranker")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.reranking import _entries
    from lab.reranking._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
