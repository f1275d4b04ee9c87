"""Image encoders, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Encoder`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.encoders._base import Encoder, Head, Pool, UnitLength, gem
    from lab.encoders._timm import FeatureMap, as_map, merge_attention, read_weights

__all__ = [
    "Encoder", "FeatureMap", "Head", "Pool", "UnitLength", "add", "as_map", "broken", "create", "gem", "get", "knob",
    "merge_attention", "names", "read_weights",
]  # fmt: skip

_catalog: "Catalog[Encoder]" = Catalog(__name__, __path__, "encoder", base="lab.encoders._base:Encoder")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
if TYPE_CHECKING:
    from lab.encoders import _entries
    from lab.encoders._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
