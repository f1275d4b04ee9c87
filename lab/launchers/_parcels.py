"""A run's folder on its way between the machine that sent the run and a node that does not see it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lab.core.files import make_folder, write_bytes
from lab.runs import lock
from lab.runs.folder import SENT
from lab.runs.launching import wishes
from lab.runs.writer import FOLDERS

STAYS = (SENT, wishes.FILE, "launch.json", "remarks.json", "marks.json", "relevance.json", "maps")
"""What is about the machine that sent the run, or written by people there meanwhile, and does not travel."""


@dataclass(frozen=True)
class Parcel:
    """Files of a run's folder.

    names: of all files that the folder holds. contents: bytes by name, of those that changed since the last parcel.
    """

    names: frozenset[str]
    contents: dict[str, bytes]

    def after(self, earlier: Parcel | None) -> Parcel:
        """Both in one, for somebody who has unpacked neither."""
        if earlier is None:
            return self
        contents = {**earlier.contents, **self.contents}
        return Parcel(self.names, {name: content for name, content in contents.items() if name in self.names})


class Packer:
    """Packs a folder again and again, each time what has changed since.

    The folder is written by the thread that packs, and every file is replaced in one stroke or grows, so that what is
    read is whole.

    Args:
        known: whether the other side has the folder as it is now; else the first parcel holds everything.
    """

    def __init__(self, folder: Path, known: bool = False):
        self.folder = folder
        self._arrived = self._packed = _states(folder) if known else {}

    def parcel(self) -> Parcel:
        """What has changed since the last one that arrived."""
        self._packed = _states(self.folder)
        changed = [name for name, state in self._packed.items() if self._arrived.get(name) != state]
        return Parcel(frozenset(self._packed), {name: (self.folder / name).read_bytes() for name in changed})

    def arrived(self) -> None:
        """Take note that the other side has the last parcel."""
        self._arrived = self._packed


def unpack(parcel: Parcel, folder: Path) -> None:
    """Make a run's folder what it was when the parcel was packed, file by file: records first, then the checkpoints,
    which must not be further than these, and status.json last.

    Raises:
        ValueError: something in it is no file of a run's folder; nothing is written then.
        lab.runs.lock.Held: another process writes the folder.
        OSError: the disk is full or the folder cannot be written.
    """
    with lock.take(folder):
        for name in parcel.contents:
            if not _travels(name) or not (folder / name).resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"What came back for run {folder.name} holds {name!r}, no file of its folder.")
        for name in sorted(parcel.contents, key=lambda name: (name == "status.json", "checkpoints/" in name, name)):
            make_folder((folder / name).parent)
            write_bytes(folder / name, parcel.contents[name])
        for name in _states(folder).keys() - parcel.names:
            if name.partition("/")[0] in FOLDERS:
                (folder / name).unlink(missing_ok=True)


def _states(folder: Path) -> dict[str, tuple[int, int, int]]:
    """The files that travel, and what tells a changed one from what it was."""
    states = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if _travels(name) and file.is_file():
            state = os.stat(file)
            states[name] = state.st_ino, state.st_mtime_ns, state.st_size
    return states


def _travels(name: str) -> bool:
    """Whether a file of that name is one of the run's own; locks and half-written files begin with a dot."""
    parts = PurePosixPath(name).parts
    return bool(parts) and parts[0] not in STAYS and not any(part.startswith(".") or part == "/" for part in parts)
