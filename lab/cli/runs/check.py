"""Find what is damaged in the runs' folders, and what to do.

All that lies there is read, and what still works is told. The exit status is 1 where something is damaged.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="*", help="names or folders of the runs (default all)")
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.core.formats import counted
    from lab.runs import check

    runs = [lab.runs.open(name, arguments.runs, arguments.allow) for name in arguments.run]
    if not runs:
        runs += lab.runs.list(arguments.runs)
    rows = []
    for run in runs:
        for damage in check.check(run):
            advice = damage.advice or "nothing mends it"
            rows.append(
                {"run": run.name, "file": damage.file, "found": damage.sentence, "to do": advice}
            )
    show(rows, as_json=arguments.json, empty=f"{counted(len(runs), 'run')}, nothing is damaged.")
    return 1 if rows else 0
