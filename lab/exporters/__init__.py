"""Exporters, one file each, from a run to what other tools read: `names()`, `create(name, **knobs)`, `add(cls)`.

Derive your own from `Exporter`.

Example (`root` is the folder of your runs, a `pathlib.Path`):
    >>> import lab
    >>> run = lab.runs.create(lab.runs.RunConfig.of({
    ...     "data": {"name": "emoji7", "test": 0.04, "validation": 0.04}, "augmentation": {"size": 32},
    ...     "sampler": {"name": "m_per_class", "batch_size": 32}, "training": {"steps": 2, "device": "cpu"},
    ... }), root, "exported")
    >>> records = list(lab.runs.execute(run))
    >>> {"onnx", "parquet", "tensorboard"} < set(lab.exporters.names())
    True
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.exporters._base import Exporter
    from lab.exporters._curves import Curves, Log, following
    from lab.exporters._program import EncoderExporter
    from lab.exporters._rows import ExportRows, RowsKnobs, rows_of

__all__ = [
    "Curves", "EncoderExporter", "ExportRows", "Exporter", "Log", "RowsKnobs", "add", "create", "following",
    "get", "knob", "names", "rows_of",
]  # fmt: skip

_catalog: "Catalog[Exporter]" = Catalog(__name__, __path__, "exporter", base="lab.exporters._base:Exporter")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
if TYPE_CHECKING:
    from lab.exporters import _entries
    from lab.exporters._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
