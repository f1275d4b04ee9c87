"""One writer a folder: a lock of the operating system, which is free the moment its holder is gone.

Process numbers and clocks cannot promise that: checking who is at work and saying that one is are two steps, numbers
are used again, clocks are set, and folders are copied. The lock is of the file `.lock` in the folder, so it goes along
when the folder is renamed, and a copy is as free as the file it was copied to. On a file system without locks nobody
can say whether it is held; then the signs of life in status.json must do.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lab.core.files import check_allowed

FILE = ".lock"

WAIT = 0.5
"""Seconds to wait for a lock that somebody has for a moment: whoever looks whether it is held, renames or annotates."""

PATIENCE = 10.0
"""Seconds to wait for a lock that others hold while they change a small file."""


class Held(ValueError):
    """Another process, or another part of this one, writes that folder."""


def take(folder: Path, file: str = FILE, wait: float = WAIT) -> FileLock:
    """The lock of a folder, held until it is released, forgotten or the process is gone.

    Raises:
        Held: somebody else has it.
        FileNotFoundError: there is no such folder, or it was renamed at this moment.
        OSError: the folder cannot be written.
    """
    check_allowed()
    before = os.stat(folder).st_ino
    lock = FileLock(folder / file, timeout=wait, thread_local=False)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise Held(f"{folder} is being written by another process.") from None
    if not folder.is_dir() or os.stat(folder).st_ino != before:
        lock.release()
        raise FileNotFoundError(2, "moved or deleted", str(folder))
    return lock


@contextmanager
def alone(folder: Path, file: str) -> Iterator[None]:
    """Hold a lock of a folder within the block: for a file that is read, changed and written again.

    Raises:
        Held: somebody else has had it for `PATIENCE` seconds. OSError: the folder cannot be written.
    """
    mine = take(folder, file, PATIENCE)
    try:
        yield
    finally:
        mine.release()


def held(folder: Path, file: str = FILE) -> bool | None:
    """Whether somebody holds a folder's lock; None where the file system cannot tell."""
    try:
        descriptor = os.open(folder / file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False  # nobody ever took it
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # several may look at once; closing gives it back
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return None
    else:
        return False
    finally:
        os.close(descriptor)
