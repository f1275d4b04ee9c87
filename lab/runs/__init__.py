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

    Example (`root` is that of `lab.runs`):
        >>> lab.runs.open("first", root).config.loss.name
        'recall_at_k'
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

    Example (`root` is that of `lab.runs`):
        >>> "first" in [run.name for run in lab.runs.list(root)]
        True
    """
    root = default_root() if root is None else Path(root)
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
