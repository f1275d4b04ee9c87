"""Runs: make one, list them, open one. A run is a folder; see `lab.runs.folder`. Importing this imports no torch."""

from __future__ import annotations

from lab.runs.config import SECTIONS, RunConfig, difference, presets
from lab.runs.execute import check_available, create, execute
from lab.runs.folder import Run
from lab.runs.store import default_root, free_name
from lab.runs.store import list_runs as list
from lab.runs.store import open_run as open
from lab.runs.writer import Writer

__all__ = [
    "SECTIONS", "Run", "RunConfig", "Writer", "check_available", "create", "default_root", "difference", "execute",
    "free_name", "list", "open", "presets",
]  # fmt: skip
