"""Asking a run to stop from another machine: by a file in its folder, where a signal does not reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from lab.core.files import write_text
from lab.runs.folder import Run

FILE = "stop"
"""The wish, in the run's folder; whoever works on the run takes it down."""

EVERY = 1.0
"""Seconds between two looks for the file."""


def leave(run: Run) -> None:
    """Ask whoever works on the run, wherever, to save a checkpoint and end.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text(run.path / FILE, "")


def left(run: Run) -> bool:
    """Whether somebody has asked, and nobody has heard it yet."""
    return (run.path / FILE).exists()


def clear(run: Run) -> None:
    """Take a wish down: it is fulfilled, or was meant for somebody who is gone."""
    with suppress(OSError):
        (run.path / FILE).unlink(missing_ok=True)


def heard(run: Run, stop: Callable[[], bool]) -> Callable[[], bool]:
    """`stop`, or a wish that was left in the run's folder."""
    last = 0.0

    def asked() -> bool:
        nonlocal last
        if stop():
            return True
        if time.monotonic() - last < EVERY:
            return False
        last = time.monotonic()
        return left(run)

    return asked
