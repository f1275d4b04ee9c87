"""What a run writes while it is at work, line by line."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lab.core.files import checked
from lab.core.records import Evaluated, Note, Record, Saved, Stepped, Validated

if TYPE_CHECKING:
    from lab.runs import Run

PAUSE = 0.3
"""Seconds between two looks."""
PIECE = 10_000_000
"""Bytes that are read at a look."""


def lines_of(run: Run, name: str, goes_on: Callable[[Run], bool] | None = None) -> Iterator[str]:
    """The lines that come to one of a run's files, while the run goes on: by default while it waits or works.

    A file that gets shorter (a run that goes on cuts off what came after its checkpoint) is followed from its new end.
    """
    path, rest, offset = run.file(name), b"", 0
    with suppress(FileNotFoundError):
        offset = os.stat(path).st_size
    while True:
        going = (goes_on or at_work)(run)
        fresh = b""
        with suppress(FileNotFoundError), open(checked(path), "rb") as file:
            if (size := os.fstat(file.fileno()).st_size) < offset:
                offset, rest = size, b""
            file.seek(offset)
            fresh = file.read(PIECE)
            offset += len(fresh)
        *lines, rest = (rest + fresh).split(b"\n")
        yield from (line.decode("utf-8", errors="replace") for line in lines)
        if not going:
            return
        if not fresh:
            time.sleep(PAUSE)


def at_work(run: Run) -> bool:
    """Whether the run waits or works."""
    return run.state in ("queued", "running")


def coming(run: Run, goes_on: Callable[[Run], bool] | None = None) -> Iterator[dict[str, Any]]:
    """The records of a run's metrics.jsonl that come while it goes on, see `lines_of`."""
    from lab.runs.folder import stored_record

    lines = (stored_record(line.encode()) for line in lines_of(run, "metrics.jsonl", goes_on))
    return (record for record in lines if record is not None)


def record_of(line: dict[str, Any]) -> Record | None:
    """The record that a line of metrics.jsonl tells of; None for kinds that are not shown."""
    kinds: dict[str, Any] = {kind.__name__.lower(): kind for kind in (Evaluated, Note, Saved, Stepped, Validated)}
    kind = kinds.get(str(line.get("kind")))
    if kind is None:
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    values = {name: math.nan if line[name] is None else line[name] for name in names if name in line}
    with suppress(TypeError):  # a line of another version
        return kind(**values)
    return None
