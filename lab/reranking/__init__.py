"""Re-rankers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Reranker`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.reranking._base import Reranker

__all__ = ["Knobs", "Reranker", "add", "create", "get", "knob", "names"]

_catalog = Catalog(__name__, __path__, "re-ranker", base="lab.reranking._base:Reranker")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
__getattr__ = public(__name__, {"Reranker": "lab.reranking._base", "Knobs": "lab.core.knobs", "knob": "lab.core.knobs"})
