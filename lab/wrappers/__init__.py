"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A wrapper of one's own derives from `Wrapper`: `from lab.wrappers import Batch, Knobs, Wrapper, knob`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import REQUIRED, Knobs, knob
    from lab.kernels.memory import Peak
    from lab.losses import Batch
    from lab.wrappers._base import Wrapper

__all__ = ["REQUIRED", "Batch", "Knobs", "Peak", "Wrapper", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Wrapper]" = Catalog(__name__, __path__, "wrapper", base="lab.wrappers._base:Wrapper")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
__getattr__ = public(__name__)
