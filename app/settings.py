"""Where the dashboard may look."""

from __future__ import annotations

from pathlib import Path

import lab.runs

RUNS = "LAB_RUNS"
"""Environment variable that names the folder of runs, for the dashboard and the processes that it starts."""


def runs_root() -> Path:
    """The folder of runs; nothing outside it is ever opened as a run."""
    return lab.runs.default_root().resolve()
