"""Keeping order among runs: notes, tags, groups, new names, and a trash that gives back what was thrown away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.core.files import write_json
from lab.runs import lock
from lab.runs.folder import Run
from lab.runs.store import check_name, free_name
from lab.runs.writer import Writer

TRASH = ".trash"
"""Folder below the folder of runs; listings pass over it."""

MAX_NOTE, MAX_TAGS, MAX_TAG, MAX_GROUP = 5_000, 20, 40, 100


def notes(run: Run) -> dict[str, Any]:
    """What a person wrote about a run: {"note": str, "tags": [str], "group": str}; empty while nothing is written."""
    return {"note": "", "tags": [], "group": "", **run.find("remarks.json")}


def annotate(
    run: Run, note: str | None = None, tags: Sequence[str] | None = None, group: str | None = None
) -> dict[str, Any]:
    """Write a note, tags or the group beside a run; None leaves as it is. Returns what `notes` says from now on.

    Raises:
        ValueError: too long, or too many tags.

    Example (`run` is that of `lab.runs`):
        >>> annotate(run, tags=["baseline"], group="first tries")
        {'note': '', 'tags': ['baseline'], 'group': 'first tries'}
        >>> annotate(run, tags=[], group="")["tags"]
        []
    """
    before = notes(run)
    note = before["note"] if note is None else note
    tags = list(
        dict.fromkeys(
            tag.strip() for tag in (before["tags"] if tags is None else tags) if tag.strip()
        )
    )
    group = before["group"] if group is None else group.strip()
    if len(note) > MAX_NOTE:
        raise ValueError(f"A note has at most {MAX_NOTE:,} characters, got {len(note):,}.")
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in tags):
        raise ValueError(
            f"A run has at most {MAX_TAGS} tags of at most {MAX_TAG} characters each, got {tags}."
        )
    if len(group) > MAX_GROUP or not group.isprintable():
        raise ValueError(
            f"A group's name is one line of at most {MAX_GROUP} characters, got {group!r}."
        )
    if (now := {"note": note, "tags": tags, "group": group}) != before:
        write_json(run.path / "remarks.json", now)
    return now


def rename(run: Run, name: str) -> Run:
    """Give a run another name; one that may wait in the queue is renamed by `lab.launchers.background.waiting`.

    Raises:
        ValueError: the run is at work, the name is no plain file name, or it is taken.
    """
    check_name(name)
    target = run.path.with_name(name)
    with _locked(run, "renamed"):
        if target.exists():
            raise ValueError(f"There is a run {name!r} already; choose another name.")
        return Run(run.path.rename(target))


def trash(run: Run) -> Path:
    """Move a run to the trash beside it; returns where it lies now. One that may wait in the queue is thrown away by
    `lab.launchers.background.waiting`.

    Raises:
        ValueError: the run is at work.
    """
    trash = run.path.parent / TRASH
    with _locked(run, "deleted"):
        trash.mkdir(exist_ok=True)
        return run.path.rename(trash / free_name(trash, run.name))


def trashed(root: Path) -> tuple[Path, ...]:
    """Runs in the trash, last thrown away first."""
    thrown = [folder for folder in (Path(root) / TRASH).glob("*") if folder.is_dir()]
    return tuple(sorted(thrown, key=os.path.getctime, reverse=True))


def empty_trash(root: Path) -> int:
    """Delete for good what lies in the trash; returns how many runs."""
    thrown = trashed(root)
    for folder in thrown:
        shutil.rmtree(folder)
    return len(thrown)


def restore(thrown: Path) -> Run:
    """Move a run out of the trash; under another name when its own is taken by now.

    Raises:
        ValueError: it does not lie in a trash.
    """
    thrown = Path(thrown)
    if thrown.parent.name != TRASH or not thrown.is_dir():
        raise ValueError(f"There is no run {thrown.name!r} in the trash.")
    root = thrown.parent.parent
    with _locked(Run(thrown), "given back"):
        return Run(thrown.rename(root / free_name(root, thrown.name)))


@contextmanager
def _locked(run: Run, done: str) -> Iterator[None]:
    """Hold the run's lock, so that nobody begins to write it meanwhile; the lock goes along with the folder."""
    found = run.snapshot()
    busy = found.under_way or (found.launched is not None and found.launched.alive)
    try:
        writer = None if busy else Writer(run)
    except lock.Held:
        writer = None
    if writer is None:
        raise ValueError(f"Run {run.name} is already running and cannot be {done}; stop it first.")
    with writer:
        yield
