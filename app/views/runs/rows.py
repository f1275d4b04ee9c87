"""Rows of the table, each made once as long as its run's files stay: the page itself is read anew at every click."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from app.results.run_choice import chosen_name, described, written
from app.views.runs import tables
from lab.runs import Run
from lab.runs.folder import QUEUED, RUNNING


def row(run: Run, split: str) -> dict[str, Any]:
    """A run's row; whether a process still works on it is looked up each time."""
    files = ("config.yaml", "status.json", "remarks.json", "meta.json", f"scores/{split}.json")
    stored = _stored(str(run.path), split, tuple(written(run.path / name) for name in files))
    return {**stored, "state": run.state if stored["state"] in (RUNNING, QUEUED) else stored["state"]}


@lru_cache(maxsize=5_000)
def _stored(path: str, split: str, written: tuple[int, ...]) -> dict[str, Any]:
    run = Run(path)
    config = described(run)
    return tables.row(run, config, {s: chosen_name(config, s) for s in ("loss", "encoder", "data")}, split)
