"""Rename or trash runs that may wait in the queue, and update the queue."""

from __future__ import annotations

from pathlib import Path

from lab.launchers.background.queue import Queue
from lab.runs import management
from lab.runs.folder import Run


def rename(run: Run, name: str) -> Run:
    """Rename a run; if it waits in the queue, it stays there under the new name.

    Raises:
        ValueError: the run is at work, the name is no plain file name, or it is taken.
    """
    with Queue(run.path.parent).renaming(run.name, name):
        return management.rename(run, name)


def trash(run: Run) -> Path:
    """Move a run to the trash beside it and out of the queue; returns its new folder.

    Raises:
        ValueError: the run is at work.
    """
    with Queue(run.path.parent).renaming(run.name, None):
        return management.trash(run)
