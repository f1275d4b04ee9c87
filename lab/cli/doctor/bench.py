"""Measure what losses, metrics, searches and trainings cost here.

`lab doctor bench` measures every section; `lab doctor bench losses` some. Ratios travel between machines, seconds do
not.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, check_place, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag(
        "sections",
        nargs="*",
        metavar="SECTION",
        help="sections to measure: losses, metrics, search, ... (default all)",
    )
    flag(
        "--quick",
        action="store_true",
        help="small sizes: checks that everything runs; the numbers mean little",
    )
    flag("--output", metavar="FILE", help="also write the Markdown table (.md) or JSON (.json)")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    from lab.core.files import write_text
    from lab.doctor import bench

    target = None if arguments.output is None else Path(arguments.output)
    if target is not None and target.suffix not in (".md", ".json"):
        raise ValueError(f"--output must end in .md or .json, got {target.name!r}.")
    if target is not None:
        check_place(target)
    rows = []
    for row in bench.measure(tuple(arguments.sections), arguments.quick):
        rows.append(row)
        say(
            f"{row.section}: {row.name}, {row.setting}: {row.value:.3g} {row.unit} {row.against}".rstrip()
        )
    about = bench.machine()
    table = bench.as_table(rows, about)
    as_json = bench.as_json(rows, about)
    print(as_json if arguments.json else table)
    if target is not None:
        write_text(target, as_json if target.suffix == ".json" else table)
