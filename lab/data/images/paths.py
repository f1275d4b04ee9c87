"""One image has one key: the same file is recognised under every spelling of its path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def key_of(path: str, root: Path) -> str:
    """Return the key of an image: its path below `root`, with forward slashes and without `.` and `..`.

    A path outside `root` stays absolute or relative as it is written. A backslash is part of a name where there is
    such a file, and else separates folders, as on Windows.

    Example:
        >>> key_of("./cats//1.png", Path("/photos")), key_of("/photos/cats/1.png", Path("/photos"))
        ('cats/1.png', 'cats/1.png')
    """
    if "\\" in path and not (os.sep == "/" and os.path.lexists(os.path.join(root, path))):
        path = path.replace("\\", "/")
    plain = os.path.normpath(path)
    # it may leave a folder that is a link
    if ".." in path.split("/") and not plain.startswith(".."):
        folder, name = os.path.split(os.path.join(root, path))
        plain = os.path.join(os.path.realpath(folder), name)
    if not os.path.isabs(plain) and not plain.startswith(".."):
        return Path(plain).as_posix()
    for folder in (os.path.abspath(root), os.path.realpath(root)):
        place = os.path.normpath(os.path.join(folder, plain))
        if place.startswith(os.path.join(folder, "")):
            return Path(os.path.relpath(place, folder)).as_posix()
    return Path(plain).as_posix()


def place_finder() -> Callable[[Path], str]:
    """Return a function from a file to the one place where it really is, links followed; it looks up a folder once."""
    folders: dict[str, str] = {}

    def place_of(file: Path) -> str:
        folder, name = os.path.split(file)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        place = os.path.join(folders[folder], name)
        return os.path.realpath(place) if os.path.islink(place) else place

    return place_of
