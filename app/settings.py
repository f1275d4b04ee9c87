"""Where the dashboard may look."""

from __future__ import annotations

import os
from pathlib import Path

import lab.runs
from lab.runs import RunConfig

RUNS = "LAB_RUNS"
"""Environment variable that names the folder of runs, for the dashboard and the processes that it starts."""

DATA = "LAB_DATA"
"""Environment variable that names the folders below which images and weights may lie, separated as in PATH."""

PATHS = (("data", "root"), ("data", "path"), ("data", "distractors"), ("encoder", "weights"))
"""Knobs that name a file or a folder."""


def runs_root() -> Path:
    """The folder of runs; nothing outside it is ever opened as a run."""
    return lab.runs.default_root().resolve()


def data_roots() -> tuple[Path, ...]:
    """The folders below which a configuration may look for images and weights: by default home, and where we stand."""
    named = [Path(one) for one in os.environ.get(DATA, "").split(os.pathsep) if one]
    return tuple(path.expanduser().resolve() for path in named or (Path.home(), Path.cwd()))


def confine(config: RunConfig) -> RunConfig:
    """Hand a configuration back if every path in it lies below a folder of `data_roots`.

    Raises:
        ValueError: names the knob, the path and how to allow it.
    """
    roots = data_roots()
    for section, knob in PATHS:
        value = getattr(config, section).values.get(knob)
        path = Path(value).expanduser().resolve() if value else None
        if path is not None and not any(path.is_relative_to(root) for root in roots):
            raise ValueError(
                f"{section}.{knob}: {path} lies outside the folders that this dashboard may read "
                f"({', '.join(map(str, roots))}); start it with --data {path.parent} to allow it."
            )
    return config
