"""Read what a run writes while it is at work, line by line."""

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
    """Yield the lines that are added to a run's file while the run goes on: by default while it waits or works.

    A run that is resumed cuts off what follows its checkpoint. A file that gets shorter is followed from its new end.
    """
    path = run.file(name)
    rest = b""
    offset = 0
    with suppress(FileNotFoundError):
        offset = os.stat(path).st_size
    while True:
        # before the file is read: what came last is then read, too
        going = (goes_on or at_work)(run)
        fresh = b""
        with suppress(FileNotFoundError), open(checked(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < offset:
                offset = size
                rest = b""
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
    """Return whether the run waits or works."""
    return run.state in ("queued", "running")


def coming(run: Run, goes_on: Callable[[Run], bool] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records that are added to a run's metrics.jsonl while it goes on, see `lines_of`."""
    from lab.runs.folder import stored_record

    for line in lines_of(run, "metrics.jsonl", goes_on):
        record = stored_record(line.encode())
        if record is not None:
            yield record


def record_of(line: dict[str, Any]) -> Record | None:
    """Return the record that a line of metrics.jsonl describes; None for kinds that are not shown."""
    kinds: dict[str, Any] = {
        kind.__name__.lower(): kind for kind in (Evaluated, Note, Saved, Stepped, Validated)
    }
    kind = kinds.get(str(line.get("kind")))
    if kind is None:
        return None
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in line:
            value = line[field.name]
            values[field.name] = math.nan if value is None else value
    with suppress(TypeError):  # a line of another version
        return kind(**values)
    return None
