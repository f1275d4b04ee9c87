"""Losses, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A loss of one's own derives from `Loss`: `from lab.losses import Batch, Loss, knob`. For loops that are not ours:
`gathered(loss)` under several processes, `for_pml(loss)` inside pytorch-metric-learning's wrappers.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.kernels.memory import Peak
    from lab.losses._base import ClassLoss, Family, Loss, RankingKnobs, mean_per_query, normalised
    from lab.losses._batch import Batch
    from lab.losses._draws import Draws, mixed, mixing_weights, positive_couples
    from lab.losses._gathered import gathered
    from lab.losses._pml_parts import for_pml

__all__ = [
    "Batch", "ClassLoss", "Draws", "Family", "Loss", "Peak", "RankingKnobs",
    "add", "broken", "create", "entries", "for_pml", "gathered", "get", "knob", "mean_per_query", "mixed",
    "mixing_weights", "names", "normalised", "positive_couples",
]  # fmt: skip

_catalog: "Catalog[Loss]" = Catalog(__name__, __path__, "loss", base="lab.losses._base:Loss")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
entries, broken = _catalog.entries, _catalog.broken
if TYPE_CHECKING:
    from lab.losses import _entries
    from lab.losses._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
