"""Writing files so that a kill at any moment leaves the old content or the new, never a part. Imports no torch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well, its content is on disk and takes `path`'s place.

    Raises:
        OSError: the disk is full or the folder cannot be written; `path` then holds what it held before.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        _to_disk(temporary)
        os.replace(temporary, path)
        _to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a new folder; it becomes `folder`, which must not be there yet, when the block ends well, else it goes."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Replace a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file atomically. NaN and infinity are refused: they are not JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half-written in a folder."""
    for leftover in Path(folder).rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
