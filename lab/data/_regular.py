"""Open regular files only: a named pipe or a device in their place would keep a reader waiting for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))


def refuse_others(path: Path) -> None:
    """Make sure that a path leads to a regular file, or to nothing: who opens it will say that best.

    Raises:
        ValueError: it is something else; names the path and says what it is.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode):
        kind = next((words for is_one, words in _KINDS if is_one(mode)), "a device")
        raise ValueError(f"{path} is {kind}, not a file.")


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        ValueError: it is a folder, a named pipe or a device.
    """
    refuse_others(path)
    return path.read_bytes()


def read_text(path: Path) -> str:
    """The content of a regular file that is UTF-8.

    Raises:
        ValueError: it is a folder, a named pipe or a device.
        UnicodeDecodeError: it is no UTF-8.
    """
    refuse_others(path)
    return path.read_text(encoding="utf-8")
