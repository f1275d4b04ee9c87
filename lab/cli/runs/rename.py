"""Rename a run that is not running."""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "run", "runs")
    parser.add_argument("name", help="its new name")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab.launchers.background import waiting

    run = lab.runs.open(arguments.run, arguments.runs)
    say(f"{run.name} is called {waiting.rename(run, arguments.name).name} now.")
