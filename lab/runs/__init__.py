"""Runs: make one, list them, open one. A run is a folder; see `lab.runs.folder`. Importing this imports no torch.

Example (`root` is the folder of your runs, a `pathlib.Path`):
    >>> import lab
    >>> config = lab.runs.RunConfig.of({
    ...     "data": {"name": "emoji7", "test": 0.04, "validation": 0.04}, "augmentation": {"size": 32},
    ...     "sampler": {"name": "m_per_class", "batch_size": 32}, "training": {"steps": 4, "device": "cpu"},
    ... })
    >>> run = lab.runs.create(config, root, "first")
    >>> records = list(lab.runs.execute(run))
    >>> run.state, run.splits
    ('finished', ('test', 'validation'))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lab.runs.config import SECTIONS, RunConfig, difference, presets
from lab.runs.execute import check_available, create, execute
from lab.runs.folder import Run
from lab.runs.joined import join
from lab.runs.store import default_root, free_name
from lab.runs.store import list_runs as list
from lab.runs.store import open_run as open
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.integrations.importing.folder import embed_folder
    from lab.integrations.importing.run import from_embeddings
    from lab.integrations.recording.recorder import record

__all__ = [
    "SECTIONS",
    "Run",
    "RunConfig",
    "Writer",
    "check_available",
    "create",
    "default_root",
    "difference",
    "embed_folder",
    "execute",
    "free_name",
    "from_embeddings",
    "join",
    "list",
    "open",
    "presets",
    "record",
]

_INTEGRATIONS = {
    "embed_folder": "lab.integrations.importing.folder",
    "from_embeddings": "lab.integrations.importing.run",
    "record": "lab.integrations.recording.recorder",
}
"""What makes runs of what was made elsewhere. It stands on this package, so it is loaded when it is first named."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _INTEGRATIONS:
            return getattr(importlib.import_module(_INTEGRATIONS[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
