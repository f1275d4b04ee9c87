"""Learning-rate schedules, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Schedule`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog, public

if TYPE_CHECKING:
    from lab.core.knobs import Knobs, knob
    from lab.training.schedules._base import Schedule

__all__ = ["Knobs", "Schedule", "add", "broken", "create", "get", "knob", "names"]

_catalog: "Catalog[Schedule]" = Catalog(__name__, __path__, "schedule", base="lab.training.schedules._base:Schedule")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
broken = _catalog.broken
__getattr__ = public(__name__)
