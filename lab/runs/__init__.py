"""Runs: make one, list them, open one. A run is a folder; see `lab.runs.folder`. Importing this imports no torch."""

from __future__ import annotations

from pathlib import Path

from lab.runs.config import SECTIONS, RunConfig, difference, presets
from lab.runs.execute import check_available, create, default_root, execute, free_name
from lab.runs.folder import Run
from lab.runs.writer import Writer

__all__ = [
    "SECTIONS", "Run", "RunConfig", "Writer", "check_available", "create", "default_root", "difference", "execute",
    "free_name", "list", "open", "presets",
]  # fmt: skip


def open(path: Path | str, root: Path | str | None = None) -> Run:
    """The run at a path, or of that name below `root`.

    Raises:
        ValueError: there is no run there; names the nearest ones.
    """
    candidates = [Path(path), (default_root() if root is None else Path(root)) / str(path)]
    for candidate in candidates:
        if (candidate / "config.yaml").is_file():
            return Run(candidate)
    known = [run.name for run in list(root)]
    told = f"{root or default_root()} holds {', '.join(known[:8])}" if known else f"{root or default_root()} holds none"
    raise ValueError(f"There is no run {str(path)!r}; {told}.")


def list(root: Path | str | None = None) -> tuple[Run, ...]:
    """Every run directly below `root`, newest first. Folders that are no runs are passed over.

    Raises:
        ValueError: `root` is no folder.
    """
    root = default_root() if root is None else Path(root)
    if root.exists() and not root.is_dir():
        raise ValueError(f"{root} is no folder, so it holds no runs.")
    if not root.is_dir():
        return ()
    found = []
    for folder in root.iterdir():
        if not folder.name.startswith("."):
            try:
                found.append(((folder / "config.yaml").stat().st_mtime, Run(folder)))
            except (OSError, ValueError):  # no run, or gone since: somebody else may rename and delete
                continue
    return tuple(run for _, run in sorted(found, key=lambda one: one[0], reverse=True))
