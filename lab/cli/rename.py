"""Rename a run that is not running."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("name", help="its new name")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.cli._output import say
    from lab.runs import management

    run = lab.runs.open(arguments.run, arguments.runs)
    say(f"{run.name} is called {management.rename(run, arguments.name).name} now.")
    return 0
