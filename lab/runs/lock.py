"""One writer per folder: an operating-system lock on its file `.lock`, which is free once its holder is gone.

The lock stays valid when the folder is renamed; a copy of the folder is not locked.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from filelock import FileLock, Timeout

from lab.core.files import check_allowed

FILE = ".lock"

WAIT = 0.5
"""Seconds to wait for a lock that is held for a moment, by a check whether it is held, a renaming or an annotation."""


class Held(ValueError):
    """Another process, or another part of this process, writes that folder."""


def take(folder: Path) -> FileLock:
    """Take the lock of a folder, held until it is released, forgotten or the process is gone.

    Raises:
        Held: another process has it.
        OSError: there is no such folder, it was renamed at this moment, or it cannot be written.
    """
    check_allowed()
    before = os.stat(folder).st_ino
    lock = FileLock(folder / FILE, timeout=WAIT, thread_local=False)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise Held(f"{folder} is being written by another process.") from None
    if not folder.is_dir() or os.stat(folder).st_ino != before:
        lock.release()
        raise FileNotFoundError(2, "moved or deleted", str(folder))
    return lock


def held(folder: Path) -> bool:
    """Return whether a folder's lock is held."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY)
    except OSError:
        return False  # nobody ever took it
    try:
        # several may look at once; closing gives it back
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False
