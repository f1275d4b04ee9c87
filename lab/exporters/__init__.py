"""Exporters, one file each, write a run for other tools: `names()`, `create(name, **knobs)`, `add(cls)`.

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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
