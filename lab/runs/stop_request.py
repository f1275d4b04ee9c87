"""Asking a run to stop from another machine: by a file in its folder, where a signal does not reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from lab.core.files import write_text
from lab.runs.folder import Run

FILE = "stop"
"""The request, in the run's folder; whoever works on the run takes it away."""


def write(run: Run) -> None:
    """Ask whoever works on the run, wherever, to save a checkpoint and end.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text(run.path / FILE, "")


def pending(run: Run) -> bool:
    """Whether somebody has asked, and nobody has heard it yet."""
    return (run.path / FILE).exists()


def clear(run: Run) -> None:
    """Take the request away: it is fulfilled, or was meant for somebody who is gone."""
    with suppress(OSError):
        (run.path / FILE).unlink(missing_ok=True)


def poll(run: Run, stop: Callable[[], bool]) -> Callable[[], bool]:
    """A function that says whether `stop` does, or a request is pending, for which it looks once a second."""
    last = 0.0

    def requested() -> bool:
        nonlocal last
        if stop():
            return True
        if time.monotonic() - last < 1.0:
            return False
        last = time.monotonic()
        return pending(run)

    return requested
