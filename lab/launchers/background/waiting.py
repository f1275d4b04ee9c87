"""Runs that may wait in the queue under another name, or in the trash: the queue follows."""

from __future__ import annotations

from pathlib import Path

from lab.launchers.background.queue import Queue
from lab.runs import management
from lab.runs.folder import Run


def rename(run: Run, name: str) -> Run:
    """Give a run another name; if it waits in the queue, it goes on waiting under that.

    Raises:
        ValueError: the run is at work, the name is no plain file name, or it is taken.
    """
    with Queue(run.path.parent).renaming(run.name, name):
        return management.rename(run, name)


def trash(run: Run) -> Path:
    """Move a run to the trash beside it and out of the queue; returns where it lies now.

    Raises:
        ValueError: the run is at work.
    """
    with Queue(run.path.parent).renaming(run.name, None):
        return management.trash(run)
