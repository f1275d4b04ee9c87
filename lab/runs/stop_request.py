"""Ask a run to stop from another machine: by a file in its folder, where a signal cannot reach its process."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from lab.core.files import write_text
from lab.runs.folder import Run

FILE = "stop"
"""Name of the request in the run's folder; the process that works on the run deletes it."""


def write(run: Run) -> None:
    """Ask the process that works on the run, on any machine, to save a checkpoint and end.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text(run.path / FILE, "")


def pending(run: Run) -> bool:
    """Return whether a request waits to be noticed."""
    return (run.path / FILE).exists()


def clear(run: Run) -> None:
    """Delete the request: it is fulfilled, or was meant for a process that is gone."""
    with suppress(OSError):
        (run.path / FILE).unlink(missing_ok=True)


def poll(run: Run, stop: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that says whether to stop: if `stop` says so, or a request is pending, checked every second."""
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
