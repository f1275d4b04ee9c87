"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`.

A wrapper of one's own derives from `Wrapper`: `from lab.wrappers import Batch, Knobs, Wrapper, knob`.
"""

from lab.core.catalog import Catalog

_catalog = Catalog(__name__, __path__, "wrapper")
names, get, create = _catalog.names, _catalog.get, _catalog.create

__all__ = ["REQUIRED", "Batch", "Knobs", "Peak", "Wrapper", "create", "get", "knob", "names"]


def __getattr__(name: str):
    """What a wrapper of one's own is made of; it brings torch along, which listing names does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    from lab.core.knobs import REQUIRED, Knobs, knob  # noqa: F401
    from lab.kernels import Peak  # noqa: F401  each is found by its name
    from lab.losses._batch import Batch  # noqa: F401
    from lab.wrappers._base import Wrapper  # noqa: F401

    return locals()[name]
