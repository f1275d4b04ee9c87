"""Metrics, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Metric`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.metrics._base import Metric

__all__ = ["Knobs", "Metric", "add", "create", "get", "knob", "names"]

_catalog = Catalog(__name__, __path__, "metric", base="lab.metrics._base:Metric")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
__getattr__ = public(__name__, {"Metric": "lab.metrics._base", "Knobs": "lab.core.knobs", "knob": "lab.core.knobs"})
