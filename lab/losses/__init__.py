"""Losses, one file each: `names()`, `create(name, **knobs)`, `get(name)`.

A loss of one's own derives from `Loss`: `from lab.losses import Batch, Knobs, Loss, Peak, knob`.
"""

from lab.core.catalog import Catalog

_catalog = Catalog(__name__, __path__, "loss")
names, get, create = _catalog.names, _catalog.get, _catalog.create

__all__ = [
    "REQUIRED", "Batch", "Case", "ClassKnobs", "ClassLoss", "Family", "Knobs", "Loss", "Peak", "RankingKnobs", "create",
    "get", "knob", "mean_per_query", "names",
]  # fmt: skip


def __getattr__(name: str):
    """What a loss of one's own is made of; it brings torch along, which listing names does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    from lab.core.knobs import REQUIRED, Knobs, knob  # noqa: F401
    from lab.kernels import Peak  # noqa: F401  each is found by its name
    from lab.losses._base import ClassKnobs, ClassLoss, Loss, RankingKnobs, mean_per_query  # noqa: F401
    from lab.losses._batch import Batch  # noqa: F401
    from lab.losses._declared import Case, Family  # noqa: F401

    return locals()[name]
