"""Show the end of a run's log; with -f, every new line, too.

The log of a run that was trained in a terminal holds only notes and errors; `lab runs watch RUN` shows its steps.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say
from lab.core.formats import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs")
    flag(
        "-f",
        "--follow",
        action="store_true",
        help="go on until the run ends; Ctrl-C ends the command",
    )
    flag(
        "-n", "--lines", type=int, default=40, metavar="N", help="lines to begin with (default 40)"
    )


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab.cli._following import lines_of

    run = lab.runs.open(arguments.run, arguments.runs)
    if arguments.lines < 0:
        raise ValueError(f"--lines must be 0 or more, got {arguments.lines}.")
    tail = run.log_tail(1_000_000).splitlines()
    for line in tail[max(0, len(tail) - arguments.lines) :]:
        print(visible(line))
    if not tail and not arguments.follow:
        say(f"{run.name} has no log; `lab runs watch {run.name}` shows its steps.")
    if arguments.follow:
        for line in lines_of(run, "log.txt"):
            print(visible(line), flush=True)
