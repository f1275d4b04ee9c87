"""Stop a run: ask it to save and end, wait, then kill it.

`lab train --resume RUN` goes on later.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "run", "runs", "json")
    parser.add_argument(
        "--grace",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="seconds until it is killed (default 30)",
    )


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.launchers.background.detached import stop
    from lab.runs.folder import QUEUED

    run = lab.runs.open(arguments.run, arguments.runs)
    if not 0 <= arguments.grace < float("inf"):
        raise ValueError(f"--grace must be 0 or more seconds, got {arguments.grace}.")
    outcome = stop(run, arguments.grace)
    snapshot = run.snapshot()
    if arguments.json:
        print_json({"run": run.name, "outcome": outcome, "state": snapshot.state})
    if outcome == "asked" and snapshot.written_state == QUEUED:
        say(f"{run.name} waits for a cluster and is taken back before it begins.")
    elif outcome == "asked":
        where = snapshot.worker.host if snapshot.worker else "another machine"
        say(f"{run.name} is running on {where} and was asked to stop; it saves a checkpoint first.")
    else:
        say(f"{run.name}: {outcome}. {snapshot.status.get('sentence', '')}".strip())
    return 0 if outcome != "not running" else 1
