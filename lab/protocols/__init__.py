"""Protocols, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A protocol says which runs a number needs, what is measured on them, and how far the number can be trusted.
`create(name).judge(run)` measures a finished run; `create(name).conduct(config, lab.sweeps.Bench(folder))`
trains what is needed, too, and goes on where it was interrupted. Both are generators of records that return an
`Outcome`.
Derive your own from `Protocol`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.protocols._base import JudgingProtocol, Protocol
    from lab.protocols._outcome import Outcome

__all__ = [
    "JudgingProtocol", "Outcome", "Protocol", "add", "broken", "create", "entries", "get", "knob", "names",
]  # fmt: skip

_catalog: "Catalog[Protocol]" = Catalog(__name__, __path__, "protocol", base="lab.protocols._base:Protocol")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
entries, broken = _catalog.entries, _catalog.broken
if TYPE_CHECKING:
    from lab.protocols import _entries
    from lab.protocols._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
