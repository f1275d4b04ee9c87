"""What commands show: tables for people, JSON for programs, progress, and one sentence on failure."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command the flag `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def show(rows: Sequence[dict[str, Any]], *, as_json: bool, title: str | None = None, empty: str = "Nothing.") -> None:
    """Print rows (all with the same keys) as a table, or as a JSON list; `empty` when there are none."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        print(empty)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        numbers = all(isinstance(row[name], int | float) or row[name] is None for row in rows)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    # A pipe has no width: let it have the whole table rather than folding it at eighty columns.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def say(sentence: str) -> None:
    """Tell a person something that is not the answer itself; goes to standard error, so that pipes stay clean."""
    print(sentence, file=sys.stderr, flush=True)


def complain(sentence: str) -> None:
    """Say in one line what went wrong and what to do."""
    say("lab: " + " ".join(sentence.split()))


def progress(steps: Iterable[Any], *, total: int | None, what: str) -> Iterator[Any]:
    """Pass `steps` on while showing how far they are and how long the rest will take."""
    with bar() as display:
        yield from display.track(steps, total=total, description=what)


def bar():
    """A rich progress display on standard error: count, time elapsed and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True))


def print_json(value: Any) -> None:
    """Print a JSON value; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_plain(value), indent=2, default=str, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
