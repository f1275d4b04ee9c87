"""Records on a terminal: bars with an ETA; in a file: a line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from lab.cli import _output
from lab.cli._output import console, say, visible_lines
from lab.core.formats import duration
from lab.core.records import Embedding, Evaluated, Note, Record, Saved, Searching, Stepped, Validated

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


def _task(record: Any) -> tuple[str, int, int, str] | None:
    """What is being done, how much of it is done and of how much, and a remark; None for other records."""
    if isinstance(record, Stepped):
        return "training", record.step, record.steps, f"loss {record.loss:.4f}"
    if not hasattr(record, "total"):
        return None
    verb = {Embedding: "embedding ", Searching: "searching "}.get(type(record), "")
    return verb + getattr(record, "what", "trainings"), record.done, record.total, getattr(record, "study", "")


def _bars(records: Iterable[T]) -> Iterator[T]:
    """Bars: what is done, how much of it, time elapsed and left."""
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeElapsedColumn(),
        rich.TextColumn("ETA"), rich.TimeRemainingColumn(), rich.TextColumn("{task.fields[note]}"),
    )  # fmt: skip
    with rich.Progress(*columns, console=console(stderr=True)) as progress:
        tasks: dict[str, TaskID] = {}
        best = ""
        for record in records:
            if isinstance(record, Validated):
                best = f"  {_values(record.values, 2)}"
            elif isinstance(record, Note):
                progress.console.print(visible_lines(record.sentence), markup=False)
            elif task := _task(record):
                what, done, total, note = task
                if what not in tasks:
                    tasks[what] = progress.add_task(what, total=total, note="")
                note += best if what == "training" else ""
                progress.update(tasks[what], completed=done, total=total, note=note)
                if what.startswith(("embedding validation", "searching validation")) and done >= total:
                    progress.remove_task(tasks.pop(what))
            yield record


def _lines(records: Iterable[Any]) -> Iterator[Any]:
    last = 0.0
    for record in records:
        now = time.monotonic()
        if isinstance(record, Stepped) and (record.step == record.steps or now - last > EVERY):
            last = now
            eta = "" if math.isnan(record.eta_seconds) else f"  ETA {duration(record.eta_seconds)}"  # the first step
            say(f"step {record.step}/{record.steps}  loss {record.loss:.4f}{eta}")
        elif isinstance(record, Validated):
            say(f"step {record.step}  validation  {_values(record.values)}{'  best so far' if record.best else ''}")
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
