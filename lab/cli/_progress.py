"""Records on a terminal: bars with an ETA; in a file: a line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lab.cli import _output
from lab.cli._output import console, say, visible_lines
from lab.core.formats import duration
from lab.core.records import (
    Embedding,
    Evaluated,
    Note,
    Record,
    Saved,
    Searching,
    Stepped,
    Validated,
)

if TYPE_CHECKING:
    from rich.progress import TaskID

T = TypeVar("T")

EVERY = 10.0
"""Seconds between two lines of training progress in a file."""


def follow(records: Iterable[T], quiet: bool = False) -> Iterator[T]:
    """Show every record on stderr and hand it on."""
    if quiet or _output.quiet.get():
        yield from records
    elif sys.stderr.isatty():
        yield from _bars(records)
    else:
        yield from _lines(records)


def drain(records: Iterable[object], quiet: bool = False) -> None:
    """Show all records."""
    for _ in follow(records, quiet):
        pass


def result_of(generator: Generator[Record, None, T], quiet: bool = False) -> T:
    """Show the progress of a generator and return what it returns."""
    outcome: list[T] = []

    def wrapped() -> Iterator[Record]:
        outcome.append((yield from generator))

    drain(wrapped(), quiet)
    return outcome[0]


class _Task(NamedTuple):
    """One bar: what is being done, how much of it is done, of how much, and a remark."""

    name: str
    done: int
    total: int
    remark: str


def _task(record: Any) -> _Task | None:
    """Return the bar that a record moves; None for other records."""
    if isinstance(record, Stepped):
        return _Task("training", record.step, record.steps, f"loss {record.loss:.4f}")
    if not hasattr(record, "total"):
        return None
    verb = {Embedding: "embedding ", Searching: "searching "}.get(type(record), "")
    name = verb + getattr(record, "what", "trainings")
    return _Task(name, record.done, record.total, getattr(record, "study", ""))


def _bars(records: Iterable[T]) -> Iterator[T]:
    """Show bars: what is done, how much of it, time elapsed and left."""
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("ETA"),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}"),
    )
    with rich.Progress(*columns, console=console(stderr=True)) as progress:
        tasks: dict[str, TaskID] = {}
        best = ""
        for record in records:
            if isinstance(record, Validated):
                best = f"  {_values(record.values, 2)}"
            elif isinstance(record, Note):
                progress.console.print(visible_lines(record.sentence), markup=False)
            elif task := _task(record):
                name = task.name
                if name not in tasks:
                    tasks[name] = progress.add_task(name, total=task.total, note="")
                remark = task.remark + best if name == "training" else task.remark
                progress.update(tasks[name], completed=task.done, total=task.total, note=remark)
                # The bars of a validation end with it, so that they do not pile up.
                if (
                    name.startswith(("embedding validation", "searching validation"))
                    and task.done >= task.total
                ):
                    progress.remove_task(tasks.pop(name))
            yield record


def _lines(records: Iterable[Any]) -> Iterator[Any]:
    last = 0.0
    for record in records:
        now = time.monotonic()
        if isinstance(record, Stepped) and (record.step == record.steps or now - last > EVERY):
            last = now
            line = f"step {record.step}/{record.steps}  loss {record.loss:.4f}"
            if not math.isnan(record.eta_seconds):  # the first step has none
                line += f"  ETA {duration(record.eta_seconds)}"
            say(line)
        elif isinstance(record, Validated):
            remark = "  best so far" if record.best else ""
            say(f"step {record.step}  validation  {_values(record.values)}{remark}")
        elif isinstance(record, Saved):
            say(f"step {record.step}  saved {record.name}")
        elif isinstance(record, Evaluated):
            say(f"{record.split}  {_values(record.values)}")
        elif isinstance(record, Note):
            say(record.sentence)
        elif hasattr(record, "study") and (now - last > EVERY or record.done == record.total):
            last = now
            say(f"{record.done}/{record.total}  {record.study}  left {duration(record.eta)}")
        yield record


def _values(values: dict[str, float], most: int = 6) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in list(values.items())[:most])
