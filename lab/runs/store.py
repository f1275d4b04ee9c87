"""The folder of runs: its path, its runs, and which names are free. Importing this imports no torch."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from pathlib import Path

from lab.core.explain import near
from lab.core.files import setting
from lab.runs.folder import NAME, Run, is_run


def default_root(given: Path | str | None = None) -> Path:
    """Return the folder of runs: the given one, else the environment variable LAB_RUNS, or the folder `runs` here.

    Raises:
        ValueError: the given value is no path.

    Example:
        >>> import lab
        >>> str(lab.runs.default_root("elsewhere"))
        'elsewhere'
    """
    if given is not None and not isinstance(given, str | Path):
        raise ValueError(f"The folder of runs is a path or its name, got {type(given).__name__}.")
    if given is None:
        given = setting("runs") or "runs"
    return Path(given)


def open_run(
    path: Run | Path | str, root: Path | str | None = None, allow: Iterable[str] | str = ()
) -> Run:
    """Open the run at a path, or of that name below `root`; or a published model, its folder or hf://OWNER/NAME.

    A run that is open already is returned with these rights besides its own.

    Args:
        allow: what a run that another account wrote may name outside its folder: `paths`, `downloads`, `addresses`.

    Raises:
        ValueError: there is no run there; names the nearest ones. Or there is no such right.

    Example (`root` is that of `lab.runs`):
        >>> lab.runs.open("first", root).config.loss.name
        'recall_at_k'
    """
    if isinstance(path, Run):
        return path.with_rights(allow)
    from lab.runs.building.published import HUB, fetched

    if str(path).startswith(HUB):
        return Run(fetched(str(path)), allow)
    root = default_root(root)
    for candidate in (Path(str(path)), root / str(path)):
        if is_run(candidate):
            return Run(candidate, allow)
    names = [run.name for run in list_runs(root)]
    meant = near(path, names)
    hint = f"the folder {root} holds {', '.join(names[:8]) or 'no runs yet'}."
    if meant:
        hint = f"did you mean {meant!r}?"
    raise ValueError(f"There is no run {str(path)!r}; {hint}")


def list_runs(root: Path | str | None = None) -> tuple[Run, ...]:
    """Return every run directly below `root`, newest first. Folders that are no runs are skipped.

    Raises:
        ValueError: `root` is no folder.

    Example (`root` is that of `lab.runs`):
        >>> "first" in [run.name for run in lab.runs.list(root)]
        True
    """
    root = default_root(root)
    if root.exists() and not root.is_dir():
        raise ValueError(f"{root} is no folder, so it holds no runs.")
    if not root.is_dir():
        return ()
    dated = []
    for folder in root.iterdir():
        if folder.name.startswith("."):
            continue
        try:
            run = Run(folder)
            written = folder / "config.yaml"
            if not written.exists():
                written = folder
            dated.append((written.stat().st_mtime, run))
        except (
            OSError,
            ValueError,
        ):  # no run, or gone since: another process may rename and delete
            continue
    dated.sort(key=operator.itemgetter(0), reverse=True)
    return tuple(run for _, run in dated)


def free_name(root: Path | str, name: str) -> str:
    """Return `name`, or `name-2`, `name-3`, ... if there are such runs below `root`.

    Example (`run` and `root` are those of `lab.runs`):
        >>> lab.runs.free_name(root, "first"), lab.runs.free_name(root, "unheard-of")
        ('first-2', 'unheard-of')
    """
    free = name
    number = 1
    while (Path(root) / free).exists():
        number += 1
        free = f"{name}-{number}"
    return free


def check_name(name: str) -> None:
    """Refuse names that are no plain file name.

    Raises:
        ValueError: says what is allowed.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            f"A run's name is up to 100 letters, digits, '.', '_' and '-', not starting with '.'; got {name!r}."
        )
