"""What commands show: tables for people, JSON for programs, progress, and one sentence on failure."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lab.core.formats import finite, visible
from lab.core.words import EVERYTHING

if TYPE_CHECKING:
    from rich.console import Console


COMMON: dict[str, tuple[str, dict[str, Any]]] = {
    "run": ("run", {"help": "name or folder of the run"}),
    "runs": (
        "--runs",
        {"metavar": "FOLDER", "help": "folder of runs (default $LAB_RUNS, else runs)"},
    ),
    "json": ("--json", {"action": "store_true", "help": "print JSON instead of a table"}),
    "token": (
        "--no-token",
        {
            "action": "store_true",
            "help": "require no token: every account of this machine has full access",
        },
    ),
    "encoder": (
        "--encoder",
        {
            "metavar": "MODULE:FUNCTION",
            "help": "the function or the program file that makes the encoder, for a run that was trained with one",
        },
    ),
    "allow": (
        "--allow",
        {
            "nargs": "+",
            "action": "extend",
            "default": [],
            "choices": sorted(EVERYTHING),
            "help": "what a run that somebody else sent may read outside its folder: addresses, downloads, paths",
        },
    ),
}
"""Arguments that several commands have."""


def add_flags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Give a command some of the arguments in `COMMON`."""
    for flag, facts in map(COMMON.__getitem__, names):
        parser.add_argument(flag, **facts)


def show(
    rows: Sequence[dict[str, Any]],
    *,
    as_json: bool,
    title: str | None = None,
    empty: str = "Nothing.",
) -> None:
    """Print rows (all with the same keys) as a table, or as a JSON list; print `empty` when there are none.

    Written to a pipe or file, each row is one line of tab-separated whole cells, for cut, sort and spreadsheets.
    """
    if as_json:
        print_json(rows)
        return
    if not rows:
        print(empty)
        return
    if not sys.stdout.isatty():
        table_rows = [list(rows[0])]
        for row in rows:
            table_rows.append([_cell(value) for value in row.values()])
        for cells in table_rows:
            print("\t".join(visible(" ".join(cell.split())) for cell in cells))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    first = next(iter(rows[0]))
    for name in rows[0]:
        numbers = all(isinstance(row[name], int | float) or row[name] is None for row in rows)
        justify: Literal["left", "right"] = "right" if numbers else "left"
        # The first column names the row; a name that is broken over two lines cannot be copied.
        table.add_column(
            Text(visible(name)), justify=justify, overflow="fold", no_wrap=name == first
        )
    for row in rows:
        table.add_row(*(Text(visible(_cell(value))) for value in row.values()))
    console().print(table)


def console(stderr: bool = False) -> Console:
    """Return a terminal that honours NO_COLOR fully: no colours and no bold letters."""
    from rich.console import Console

    color_system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(stderr=stderr, color_system=color_system)


def show_path(path: Path, as_json: bool, **facts: Any) -> None:
    """Print the path that was written; in JSON with more facts about it."""
    if as_json:
        print_json({**facts, "path": str(path)})
    else:
        print(path)


def check_place(path: str | Path) -> None:
    """Check that a result can be written here, before the work begins.

    Raises:
        ValueError: the folder of this file is not there, or the path is a folder itself.
    """
    folder = Path(path).expanduser().absolute().parent
    if not folder.is_dir():
        raise ValueError(
            f"There is no folder {folder} to write {Path(path).name} to; make it, or choose another."
        )
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder already; name another place.")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


quiet: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether only results and failures are printed."""


def say(sentence: str) -> None:
    """Print a sentence that is not the answer itself to standard error, so that pipes stay clean."""
    if not quiet.get():
        print(visible_lines(sentence), file=sys.stderr, flush=True)


def visible_lines(text: str) -> str:
    """Return a text from a file with all control characters but line ends made visible."""
    return "\n".join(visible(line) for line in text.splitlines())


def complain(sentence: str) -> None:
    """Print in one line what went wrong and what to do."""
    print("lab: " + visible(" ".join(sentence.split())), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print a JSON value; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(finite(value), indent=2, default=str, allow_nan=False))
