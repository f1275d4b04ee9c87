"""The folder of runs: where it is, what lies in it, and which names are free there. Importing this imports no torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lab.core.explain import near
from lab.core.files import setting
from lab.runs.folder import NAME, Run, is_run


def default_root(given: Path | str | None = None) -> Path:
    """Where runs are kept: what was given, else the environment variable LAB_RUNS, or the folder `runs` here.

    Raises:
        ValueError: what was given is no folder's name.

    Example:
        >>> import lab
        >>> str(lab.runs.default_root("elsewhere"))
        'elsewhere'
    """
    if given is not None and not isinstance(given, str | Path):
        raise ValueError(f"The folder of runs is a path or its name, got {type(given).__name__}.")
    return Path(setting("runs") or "runs" if given is None else given)


def open_run(path: Run | Path | str, root: Path | str | None = None, allow: Iterable[str] | str = ()) -> Run:
    """The run at a path, or of that name below `root`; or a published model, its folder or hf://OWNER/NAME.

    A run that is open already is handed back, with these rights besides its own.

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
    known = [run.name for run in list_runs(root)]
    meant = near(path, known)
    hint = f"did you mean {meant!r}?" if meant else f"the folder {root} holds {', '.join(known[:8]) or 'no runs yet'}."
    raise ValueError(f"There is no run {str(path)!r}; {hint}")


def list_runs(root: Path | str | None = None) -> tuple[Run, ...]:
    """Every run directly below `root`, newest first. Folders that are no runs are passed over.

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
        if not folder.name.startswith("."):
            try:
                run, written = Run(folder), folder / "config.yaml"
                dated.append(((written if written.exists() else folder).stat().st_mtime, run))
            except (OSError, ValueError):  # no run, or gone since: somebody else may rename and delete
                continue
    return tuple(run for _, run in sorted(dated, key=lambda one: one[0], reverse=True))


def free_name(root: Path | str, name: str) -> str:
    """`name`, or `name-2`, `name-3`, ... when there are such runs below `root`.

    Example (`run` and `root` are those of `lab.runs`):
        >>> lab.runs.free_name(root, "first"), lab.runs.free_name(root, "unheard-of")
        ('first-2', 'unheard-of')
    """
    number = 1
    while (Path(root) / (free := name if number == 1 else f"{name}-{number}")).exists():
        number += 1
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
