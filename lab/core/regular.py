"""Read regular files only: a named pipe or a device in their place would keep a reader waiting for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))


def other_kind(path: Path) -> str:
    """What a path leads to that is no regular file, in words; "" for a file, or for nothing: who opens it says that."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) else next((words for is_one, words in _KINDS if is_one(mode)), "a device")


def checked(path: Path) -> Path:
    """The path of a file that is about to be opened.

    Raises:
        ValueError: it is a folder, a named pipe, a socket or a device.
    """
    if kind := other_kind(path):
        raise ValueError(f"{path} is {kind}, not a file.")
    return path
