"""Image encoders, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Encoder`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.encoders._base import Encoder, EncoderKnobs, Head
    from lab.encoders._timm import read_weights

__all__ = [
    "Encoder", "EncoderKnobs", "Head", "Knobs", "add", "broken", "create", "get", "knob", "names", "read_weights",
]  # fmt: skip

_catalog: "Catalog[Encoder]" = Catalog(__name__, __path__, "encoder", base="lab.encoders._base:Encoder")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
__getattr__ = public(__name__)
