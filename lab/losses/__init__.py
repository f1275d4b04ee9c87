"""Losses, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Loss`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.losses._base import Loss
    from lab.losses._batch import Batch

__all__ = ["Batch", "Knobs", "Loss", "add", "create", "get", "knob", "names"]

_catalog = Catalog(__name__, __path__, "loss", base="lab.losses._base:Loss")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
__getattr__ = public(
    __name__,
    {"Loss": "lab.losses._base", "Batch": "lab.losses._batch", "Knobs": "lab.core.knobs", "knob": "lab.core.knobs"},
)
